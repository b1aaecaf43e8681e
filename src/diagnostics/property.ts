import type { ProblemError } from "./problem";

/**
 * The program's path of the property that a fault is about: `/ssh_keys/0` becomes `sshKeys[0]`.
 *
 * @param propertyOf from the service's field name to the program's property name
 * @returns undefined where the fault names neither pointer nor field
 */
export function propertyPath(
  fault: ProblemError,
  propertyOf: (wireField: string) => string,
): string | undefined {
  const [first, ...rest] =
    fault.pointer === undefined ? fieldSegments(fault.field) : pointerSegments(fault.pointer);
  if (first === undefined) return undefined;
  return rest.reduce((path, segment) => path + accessor(segment), propertyOf(first));
}

function pointerSegments(pointer: string): string[] {
  const fromFragment = pointer.startsWith("#") ? decode(pointer.slice(1)) : pointer;
  return fromFragment
    .split("/")
    .map((segment) => segment.replaceAll("~1", "/").replaceAll("~0", "~"))
    .filter((segment, index) => index > 0 || segment !== "");
}

function fieldSegments(field: string | undefined): string[] {
  return (field ?? "").split(/[.[\]]/).filter((segment) => segment !== "" && segment !== "$");
}

function accessor(segment: string): string {
  if (/^\d+$/.test(segment)) return `[${segment}]`;
  return /^[\p{L}_$][\p{L}\p{N}_$]*$/u.test(segment) ? `.${segment}` : `[${JSON.stringify(segment)}]`;
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
