import { describe, expect, it } from "vitest";
import { clientOf, failureOf, inTurn, startService } from "./service";

const other = { body: { id: "ins-2", name: "db", status: "running" } };

describe("a reply with another object than the requested one", () => {
  it("is an error", async () => {
    const { origin } = await startService(inTurn(other));
    const { client, call } = clientOf(origin);
    expect(await failureOf(client.instances.get("ins-1", call))).toMatchObject({
      code: "bad_reply",
      summary: "the service returned ins-2 instead of ins-1",
    });
  });

  it.each(["/v1/instances/ins-1", "/v1/servers/x"])(
    "is an error for the result of an operation (%s)",
    async (resultUrl) => {
      const { origin } = await startService(inTurn(other));
      const { client, call } = clientOf(origin);
      const operation = {
        id: "op-1",
        url: `${origin}/v1/operations/op-1`,
        status: "done",
        resultUrl,
        resource: "ins-1",
      };
      expect(await failureOf(client.readResult(operation, call))).toMatchObject({ code: "bad_reply" });
      const result = { ...operation, resultUrl: "/v1/servers/x", resource: undefined };
      expect(await client.readResult(result, call), "where no id is known").toMatchObject({ id: "ins-2" });
    },
  );
});
