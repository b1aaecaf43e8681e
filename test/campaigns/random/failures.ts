import { isCloudInfraError } from "../../../src/diagnostics/error";
import { HostError, InitializationError } from "../../../src/provider/host";
import type { Scene } from "./scene";
import { countOne, type Verb } from "./tally";

/** Only errors of ours come out, in words for people. Check has none, and diff only one: an `import` option that names another object. */
export function judgeFailure(scene: Scene, verb: Verb, error: unknown): void {
  const isOtherImport =
    error instanceof HostError && isCloudInfraError(error.cause) && error.cause.code === "import_differs";
  if (!(error instanceof HostError) || verb === "check" || (verb === "diff" && !isOtherImport)) {
    scene.broke(`${verb} threw ${error instanceof Error ? error.stack : String(error)}`);
    return;
  }
  const { message, cause } = error;
  if (!isCloudInfraError(cause)) {
    scene.broke(`${verb} crashed: ${message}`);
    return;
  }
  countOne(scene.tally.codes, cause.code);
  scene.heard(`the words of ${verb}`, message);
  scene.heard(`the printed error of ${verb}`, `${error} ${error.stack}`);
  if (/\b(undefined|NaN|Infinity)\b|\[object /.test(message)) scene.broke(`${verb} says: ${message}`);
  if (!(error instanceof InitializationError)) return;
  if (!isPlain(error.properties)) scene.broke(`${verb} leaves what the host can't bear`);
  for (const reason of error.reasons) scene.heard(`the reasons of ${verb}`, reason);
}

/** Whether the host can pass it on as it is: JSON, and nothing that is left out of it. */
export function isPlain(value: unknown): boolean {
  if (typeof value === "number") return Number.isFinite(value);
  if (typeof value !== "object") return typeof value === "string" || typeof value === "boolean";
  if (value === null) return true;
  const isMap = Array.isArray(value) || Object.getPrototypeOf(value) === Object.prototype;
  return isMap && Object.values(value).every(isPlain);
}
