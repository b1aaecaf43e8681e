import type { ApiObject } from "../../api/client";
import { CloudInfraError } from "../../diagnostics/error";
import type { Call } from "../call";
import { isKeyKept, type Pending } from "./pending";
import { sameNamed } from "./same-named";

const FORGET =
  "then `npx pulumi-cloudinfra recover --forget <urn>`, " +
  "or `pulumi state delete <urn>` where the state has the resource, and run `pulumi up` again";

/** Nothing tells by the key (any more) whether the service made anything (§4.7): a person has to. */
export async function keyExpired(call: Call, pending: Pending): Promise<CloudInfraError> {
  const same = await sameNamed(call, pending);
  const found = same.length === 0 ? "no object of that name" : `under that name: ${same.join(", ")}`;
  const what = isKeyKept(pending)
    ? "what is kept of a creation that was cut off is damaged"
    : "a creation was cut off more than 23 hours ago";
  const message = `${what}, and the service may have carried it out; its list shows ${found}`;
  return new CloudInfraError("key_expired", message, {
    hint: `nothing was made or taken. Look at the service, delete there what should not be; ${FORGET}`,
  });
}

/** What a creation was asked for is not known, so nobody can say whether its object is what is wanted now. */
export function wishUnknown({ kind }: Call, { id }: ApiObject): CloudInfraError {
  const message = `a creation that was cut off has made ${kind.name} ${id}, but what is kept of it is damaged`;
  return new CloudInfraError("key_expired", message, {
    resultId: id,
    hint: `nothing was changed or deleted. Take it over with the \`import\` option, or delete it at the service; ${FORGET}`,
  });
}
