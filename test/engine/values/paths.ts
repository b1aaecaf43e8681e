import { isList, isMap, type Value, type Values } from "./values";

/** A property path as in resource options: `labels.x`, `sshKeys[0]`, `labels["a.b"]`, `sshKeys[*]`. */
export type Path = readonly (string | number)[];

const token = /\.?([^.[\]"]+)|\[(\d+)\]|\["((?:[^"\\]|\\.)*)"\]|\[\*\]/y;

export function parsePath(text: string): Path {
  const path: (string | number)[] = [];
  token.lastIndex = 0;
  while (token.lastIndex < text.length) {
    const match = token.exec(text);
    if (!match) throw new Error(`not a property path: ${text}`);
    const [, name, index, quoted] = match;
    if (name !== undefined) path.push(name);
    else if (index !== undefined) path.push(Number(index));
    else path.push(quoted?.replaceAll('\\"', '"') ?? "*");
  }
  return path;
}

export function showPath(path: Path): string {
  return path
    .map((step, i) => {
      if (typeof step === "number") return `[${step}]`;
      if (/^[^.[\]"]+$/.test(step)) return i === 0 ? step : `.${step}`;
      return `["${step.replaceAll('"', '\\"')}"]`;
    })
    .join("");
}

/** Returns whether `path` matches `pattern`, or is inside it. */
export function contains(pattern: Path, path: Path): boolean {
  return pattern.length <= path.length && pattern.every((step, i) => step === "*" || step === path[i]);
}

/** Returns `news` with the value of `olds` at the path, as `ignoreChanges` requires. */
export function reset(path: Path, olds: Values, news: Values): Values {
  const changed = resetAt(path, olds, news);
  return isMap(changed) ? changed : news;
}

function resetAt(path: Path, old: Value | undefined, now: Value | undefined): Value | undefined {
  const [step, ...rest] = path;
  if (step === undefined) return old;
  if (isMap(now)) {
    const oldMap = isMap(old) ? old : {};
    const result: Record<string, Value> = { ...now };
    for (const key of step === "*"
      ? new Set([...Object.keys(oldMap), ...Object.keys(now)])
      : [String(step)]) {
      const value = resetAt(rest, oldMap[key], now[key]);
      if (value === undefined) delete result[key];
      else result[key] = value;
    }
    return result;
  }
  if (now !== undefined && isList(now)) {
    const oldList = old !== undefined && isList(old) ? old : [];
    return now.map((item, i) =>
      step === "*" || step === i ? (resetAt(rest, oldList[i], item) ?? item) : item,
    );
  }
  return now;
}
