import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { limitNesting } from "../../src/api/body";
import { clientOf, failureOf, inTurn, startService } from "./service";

const DEEP = 20_000;
const deepLists = "[".repeat(DEEP) + "]".repeat(DEEP);
const deepMaps = `${'{"a":'.repeat(DEEP)}1${"}".repeat(DEEP)}`;

/** Returns the nesting depth of a value, without recursion. */
function depthOf(value: unknown): number {
  let level: unknown[] = [value];
  for (let depth = 0; ; depth++) {
    level = level.flatMap((one) => (typeof one === "object" && one !== null ? Object.values(one) : []));
    if (level.length === 0) return depth;
  }
}

describe("a value that is nested too deeply", () => {
  it("becomes null, and its siblings are kept", () => {
    const text = `{"id":"ins-1","deep":${deepLists},"more":[${deepMaps},"]}{[\\"",2],"name":"web"}`;
    const value: unknown = JSON.parse(limitNesting(text));
    expect(value).toMatchObject({ id: "ins-1", name: "web", more: [{}, ']}{["', 2] });
    expect(depthOf(value)).toBeLessThanOrEqual(101);
  });

  it("doesn't occur in usual JSON, which stays the same", () => {
    fc.assert(
      fc.property(fc.json(), (text) => {
        expect(limitNesting(text)).toBe(text);
      }),
    );
  });

  it.each([deepLists, deepMaps])("doesn't make a request fail (%#)", async (deep) => {
    const numbers = "12345678901234567890";
    const { origin } = await startService(
      inTurn(
        { body: `{"id":"ins-1","extra":${deep},"n":${numbers}}` },
        { status: 409, body: `{"detail":${deep},"errors":${deep}}` },
        { body: `{"id":"op-1","status":"failed","error":{"detail":"no","more":${deep}}}` },
      ),
    );
    const { client, call } = clientOf(origin);
    expect(await client.instances.get("ins-1", call)).toMatchObject({ id: "ins-1", fields: { n: numbers } });
    expect(await failureOf(client.instances.create("{}", "k", call))).toMatchObject({ code: "conflict" });
    expect(await client.operations.get("op-1", call)).toMatchObject({ error: { detail: "no" } });
  });
});
