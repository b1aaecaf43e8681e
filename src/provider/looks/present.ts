import type { ApiObject } from "../../api/client";
import { CloudInfraError } from "../../diagnostics/error";
import { type Context, objectRefOf } from "../call";
import type { Properties } from "../host";
import { findFresh } from "./absence";

/** Whether an error is that of {@link requireObject}: a mere 404 for another request proves no absence. */
export function isConfirmedAbsence({ code, status }: CloudInfraError): boolean {
  return code === "not_found" && status === undefined;
}

/**
 * Reads an object that must exist: an update takes from it what the program doesn't manage.
 *
 * @throws CloudInfraError `not_found` if the object no longer exists; `forbidden` if the token can't prove that
 */
export async function requireObject(context: Context, id: string, state: Properties): Promise<ApiObject> {
  const found = await findFresh(context, objectRefOf(context.kind, id, state));
  if (found !== undefined) return found;
  throw noLongerExists(context, id);
}

/** Returns the error about an object that no longer exists. */
export function noLongerExists(context: Context, id: string): CloudInfraError {
  return new CloudInfraError("not_found", `${context.kind.name} ${id} no longer exists`, {
    hint: "Run `pulumi refresh` to remove it from the state. The next `pulumi up` then recreates it",
  });
}
