import type { ApiObject } from "../../api/client";
import { CloudInfraError } from "../../diagnostics/error";
import { type Call, soughtOf, valuesOf } from "../call";
import type { Properties } from "../host";
import { secretsOf } from "../inputs/secrets";
import { update } from "../update";
import { differing, type Side, sidesOf } from "../updates/conflict";
import { importTable } from "../updates/conflict-table";
import { outputsOf, outputsOfNew } from "../values/outputs";
import { hiddenOf } from "../values/state";
import { asValue, wordOf } from "../values/words";
import { leftOverOf, settle } from "./left-over";
import { isKeyKept, type Pending } from "./pending";

/**
 * The object that the `import` option tells to take over. None where this process has named it as what the resource was
 * before: the option has done its work then, and a replacement makes another.
 */
export function importedId({ session }: Call, inputs: Properties): string | undefined {
  const { __import: id, __urn: urn } = hiddenOf(inputs);
  return id === undefined || session.memory.of(urn).id === id ? undefined : id;
}

/**
 * Takes over an object that exists, in place of making one: the host can't import. It is compared with the program first;
 * what can be changed in place is, on condition of its revision.
 *
 * @throws CloudInfraError `not_found` where the service does not show it; `import_differs` where it could only be made what the
 * program asks for by replacing it. Nothing was changed then
 */
export async function adopt(
  call: Call,
  inputs: Properties,
  id: string,
): Promise<{ id: string; outs: Properties }> {
  const object = await toTakeOver(call, inputs, id);
  const { kind, session } = call;
  const differences = sidesOf(kind.fields, { olds: {}, words: {}, news: inputs }, object.fields).filter(
    differing,
  );
  const lasting = differences.filter(({ field }) => field.change === "replace");
  if (lasting.length > 0) throw differs(call, id, inputs, lasting);
  const left = await leftOverOf(call, inputs);
  session.memory.made(hiddenOf(inputs).__urn, id);
  if (left !== undefined) await putAside(call, inputs, left);
  const values = valuesOf(call, inputs);
  if (differences.length === 0) return { id, outs: outputsOfNew(call, object, inputs, values) };
  const { outs } = await update(call, id, asItStands(call, object, inputs), inputs);
  return { id, outs };
}

async function toTakeOver(call: Call, inputs: Properties, id: string): Promise<ApiObject> {
  const look = await call.session.sightings.twice(soughtOf(call.kind, id, inputs), call);
  if ("found" in look) return look.found;
  throw new CloudInfraError(
    "not_found",
    `the ${call.kind.name} ${id}, which \`import\` names, is not there`,
    {
      hint:
        "nothing was made. Correct the id (and the project), or take the `import` option out of the program: " +
        `then \`pulumi up\` makes ${call.kind.article} ${call.kind.name}`,
    },
  );
}

/** The state as it would be had the program so far asked for what is there. */
function asItStands(call: Call, object: ApiObject, inputs: Properties): Properties {
  const values = Object.fromEntries(
    call.kind.fields.flatMap((field) => {
      const value = inputs[field.name];
      if (value === undefined) return [];
      const word = wordOf(field, object.fields, value);
      return [[field.name, word === undefined ? value : asValue(field, word)]];
    }),
  );
  return outputsOf(call, object, { hidden: inputs, values, words: {}, before: {} });
}

/** A creation of this resource that was cut off before: the program now wants another object. */
async function putAside(call: Call, inputs: Properties, left: Pending): Promise<void> {
  if (left.operation !== undefined || isKeyKept(left)) await settle(call, inputs, left);
  const { __urn: urn } = hiddenOf(inputs);
  if (urn !== undefined && left.key !== undefined) await call.session.journal.remove(urn, left.key);
}

function differs({ kind }: Call, id: string, inputs: Properties, lasting: readonly Side[]): CloudInfraError {
  const secrets = secretsOf(inputs);
  return new CloudInfraError(
    "import_differs",
    `${kind.name} ${id}, which \`import\` names, is not what the program asks for, and can't be made so in place`,
    {
      lines: importTable(lasting, secrets),
      hint:
        "nothing was changed. Write into the program what the service has; " +
        "or take the `import` option out to get another one",
    },
  );
}
