import type { ApiObject } from "../api/client";
import { CloudInfraError } from "../diagnostics/error";
import { isLaterMoment } from "../model/outputs";
import type { Kind } from "../model/resource-fields";
import type { Recorded } from "../model/state";
import { isProjectVisible } from "./absence";
import type { Context } from "./context";
import type { ObjectRef } from "./lookup/object-getter";
import { warnWithoutSecrets } from "./warnings";

/**
 * The maximum duration of a creation, in seconds. The first reply may give the start of the creation as `created_at`, and later replies its
 * end.
 */
const LONGEST_CREATION_S = 3_600;

/** Reports whether an object with the recorded id was created later than the recorded object. Services may reuse ids (I1). */
export function isSuccessor({ fields }: ApiObject, { createdAt, isEcho }: Partial<Recorded>): boolean {
  return isLaterMoment(fields.created_at, createdAt, isEcho ? LONGEST_CREATION_S : undefined);
}

/**
 * Reports whether a different object now has the recorded id, so that the recorded object no longer exists. This requires two independent
 * checks while the project is visible. Warns about the other object, which isn't changed.
 *
 * @param shown the object with the recorded id, as it was just read
 * @throws CloudInfraError `forbidden` if the token may belong to another account
 */
export async function isIdReused(
  context: Context,
  ref: ObjectRef,
  shown: ApiObject,
  state: Partial<Recorded>,
): Promise<boolean> {
  if (!isSuccessor(shown, state)) return false;
  const first = { missing: shown.isFromOwnUrl ? "get" : "list" } as const;
  const again = await context.session.finder.findAgain(ref, first, context);
  if ("found" in again && !isSuccessor(again.found, state)) return false;
  if (!(await isProjectVisible(context, ref))) throw mayBeOtherAccount(context, ref, shown);
  await warnWithoutSecrets(
    context,
    `cloudinfra: ${ref.kind.name} ${ref.id} no longer exists: ${describeSuccessor(ref.kind, shown)} now has its id. ` +
      `Pulumi doesn't manage or change the new ${ref.kind.name}.`,
  );
  return true;
}

function describeSuccessor({ name }: Kind, { fields }: ApiObject): string {
  const title = typeof fields.name === "string" ? ` "${fields.name}"` : "";
  return `another ${name}${title}, created at ${String(fields.created_at)},`;
}

function mayBeOtherAccount(
  { session: { client } }: Context,
  { kind, id }: ObjectRef,
  shown: ApiObject,
): CloudInfraError {
  return new CloudInfraError(
    "forbidden",
    `the service returned ${describeSuccessor(kind, shown)} for ${kind.name} ${id}: the token may belong to another account`,
    {
      hint:
        `Check the token and cloudinfra:endpoint (${client.endpoint}). If the service has reused the id, remove the ${kind.name} from the ` +
        "state with `pulumi state delete <urn>`. Nothing was changed",
    },
  );
}

/** Returns the error for an update of an object whose id now belongs to another object. */
export function idReused({ kind }: Context, shown: ApiObject): CloudInfraError {
  return new CloudInfraError(
    "not_found",
    `${kind.name} ${shown.id} no longer exists: ${describeSuccessor(kind, shown)} now has its id`,
    {
      hint:
        "Check that the token belongs to this stack's account. Then run `pulumi refresh` to remove the " +
        `${kind.name} from the state. The next \`pulumi up\` recreates it`,
    },
  );
}
