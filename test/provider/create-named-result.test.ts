import { expect, test } from "vitest";
import { CloudInfraError } from "../../src/diagnostics/error";
import type { Call } from "../../src/provider/call";
import { create } from "../../src/provider/create";
import { instanceKind } from "../../src/provider/kind";
import { callTo } from "./fake-call";
import { FakeService } from "./fake-service";
import { instanceNews } from "./samples";

test("an operation that names its object, but has no link to it, is no dead end: the object is looked for", async () => {
  const fake = new FakeService();
  fake.addProject("prj-1");
  fake.addInstance("ins-1", "prj-1");
  const call = callTo(fake, instanceKind);
  const { client } = call.session;
  const done = { id: "op-1", url: `${client.endpoint}/operations/op-1`, status: "done", resource: "ins-1" };
  const session: Call["session"] = {
    ...call.session,
    client: {
      ...client,
      instances: { ...client.instances, create: async () => ({ kind: "operation", operation: done }) },
      resultId: (operation) => operation.resource,
      readResult: async () => {
        throw new CloudInfraError("no_result", "operation op-1 has no link to its result");
      },
    },
  };
  expect(await create({ ...call, session }, instanceNews())).toMatchObject({ id: "ins-1" });
});
