import * as v from "valibot";
import { parseDuration } from "../diagnostics/durations";
import { changedFields } from "../model/changes";
import { withRecordedForm } from "../model/equality";
import type { Kind } from "../model/kinds";
import { generatedNameInputs, nameFailures } from "../model/names";
import { secretsOf } from "../model/secrets";
import { type Hidden, hiddenInputs, hiddenOf } from "../model/state";
import { isUnknown } from "../model/unknown";
import type { CheckFindings } from "./diff";
import type { CheckFailure, Properties } from "./host";

/**
 * Checks a resource's inputs without asking the service. What is not known yet is let through wherever it stands. The
 * words name the property, and never its value, which may be a secret.
 *
 * @param noticed an unfinished creation of this resource, whose first key and generated name it keeps; and what prevents its management
 */
export function check(
  kind: Kind,
  olds: Properties,
  program: Properties,
  { left, failure }: CheckFindings = {},
): { inputs: Properties; failures: CheckFailure[] } {
  const exists = hiddenOf(olds).__key !== undefined;
  // Only this process needs these: they have no place in the state.
  const { __aliasUrns, __ignoreChanges, __replaceOnChanges, __retainOnDelete, ...given } = program;
  const news = left === undefined ? given : { ...given, __key: left.named.__key, __keyAt: left.at };
  const namedBefore = left?.named ?? olds;
  const named = { ...news, ...generatedNameInputs(kind, namedBefore, news) };
  const args = Object.fromEntries(Object.entries(news).filter(([key]) => !key.startsWith("__")));
  const parsed = v.safeParse(kind.arguments, args, { abortPipeEarly: true });
  const wrong = parsed.success ? [] : parsed.issues.map((issue) => formatIssue(issue, secretsOf(news).names));
  const failures = [
    ...new Set([
      ...(failure === undefined ? [] : [failure]),
      ...wrong,
      ...unknownArgumentFailures(kind, args),
      ...timeoutFailures(news),
      ...(exists ? [] : missingImportName(hiddenOf(news), args)),
      ...nameFailures(namedBefore, news),
    ]),
  ];
  return {
    inputs: exists ? withRecordedHiddenInputs(kind, olds, named) : named,
    failures: failures.map((reason) => ({ property: "", reason })),
  };
}

/**
 * A resource's key stays the first one. What else is hidden stays as it was where an argument differs, beside which a difference
 * in it would be shown, and else is what the program says now.
 */
function withRecordedHiddenInputs({ fields }: Kind, olds: Properties, news: Properties): Properties {
  const { __key, __keyAt, __import, __autonamed, ...others } = hiddenInputs(olds);
  const isShown = changedFields(fields, olds, news).length > 0;
  const spelt = withRecordedForm(fields, olds, news);
  return {
    ...spelt,
    __key,
    __keyAt,
    __import,
    __autonamed: __autonamed ?? news.__autonamed,
    ...(isShown && others),
  };
}

function missingImportName({ __import: id }: Hidden, { name }: Properties): string[] {
  const text = "name: is required with the `import` option: give the one that the object has";
  return id !== undefined && name === undefined ? [text] : [];
}

/** Of secret labels not even the keys are told. */
function formatIssue(issue: v.BaseIssue<unknown>, secrets: ReadonlySet<string>): string {
  const [name, ...rest] = (issue.path ?? []).map((item) => item.key);
  const isSecret = secrets.has(String(name));
  const steps = rest.map((key) => (isSecret && typeof key === "string" ? "[secret]" : pathStep(key)));
  const path = `${name}${steps.join("")}`;
  return issue.input === undefined ? `${path}: is required` : `${path}: ${issue.message}`;
}

function pathStep(key: unknown): string {
  if (typeof key === "number") return `[${key}]`;
  return /^\w+$/.test(String(key)) ? `.${key}` : `[${JSON.stringify(key)}]`;
}

function unknownArgumentFailures(kind: Kind, args: Properties): string[] {
  const known = kind.fields.map((field) => field.name);
  return Object.keys(args)
    .filter((name) => !known.includes(name))
    .map((name) => `${name}: is no argument of ${kind.article} ${kind.name}; these are: ${known.join(", ")}`);
}

function timeoutFailures(news: Properties): string[] {
  return Object.entries(hiddenOf(news).__timeouts ?? {})
    .filter(([, text]) => text !== undefined && !isUnknown(text) && parseDuration(text) === undefined)
    .map(([key]) => `customTimeouts.${key}: must be a duration such as "90s", "10m" or "1h30m"`);
}
