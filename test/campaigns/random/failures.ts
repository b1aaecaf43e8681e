import { isCloudInfraError } from "../../../src/diagnostics/error";
import { HostError, InitializationError } from "../../../src/provider/host";
import type { Scene } from "./scene";
import { countOne, type Verb } from "./tally";

/** The codes of the errors that diff may throw: another object in the `import` option, or another endpoint. */
const DIFF_CODES: readonly string[] = ["import_differs", "endpoint_changed"];

/** Checks that errors are this package's own, and readable. Check throws none, and diff only those of {@link DIFF_CODES}. */
export function judgeFailure(scene: Scene, verb: Verb, error: unknown): void {
  const isDiffError =
    error instanceof HostError && isCloudInfraError(error.cause) && DIFF_CODES.includes(error.cause.code);
  if (!(error instanceof HostError) || verb === "check" || (verb === "diff" && !isDiffError)) {
    scene.broke(`${verb} threw ${error instanceof Error ? error.stack : String(error)}`);
    return;
  }
  const { message, cause } = error;
  if (!isCloudInfraError(cause)) {
    scene.broke(`${verb} crashed: ${message}`);
    return;
  }
  countOne(scene.tally.codes, cause.code);
  scene.heard(`the message of ${verb}`, message);
  scene.heard(`the printed error of ${verb}`, `${error} ${error.stack}`);
  if (/\b(undefined|NaN|Infinity)\b|\[object /.test(message))
    scene.broke(`the message of ${verb} contains a raw value: ${message}`);
  if (!(error instanceof InitializationError)) return;
  if (!isPlain(error.properties)) scene.broke(`${verb} saves properties that the host can't serialize`);
  for (const reason of error.reasons) scene.heard(`the reasons of ${verb}`, reason);
}

/** Returns whether the host can pass the value on without loss: it is JSON, and nothing in it would be omitted. */
export function isPlain(value: unknown): boolean {
  if (typeof value === "number") return Number.isFinite(value);
  if (typeof value !== "object") return typeof value === "string" || typeof value === "boolean";
  if (value === null) return true;
  const isMap = Array.isArray(value) || Object.getPrototypeOf(value) === Object.prototype;
  return isMap && Object.values(value).every(isPlain);
}
