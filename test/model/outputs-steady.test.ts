import { expect, test } from "vitest";
import { outputsOf } from "../../src/model/outputs";
import { instanceKind } from "../../src/model/resource-fields";
import { parseDesired } from "../../src/model/state";
import { callTo } from "../provider/fake-call";
import { FakeService } from "../provider/fake-service";
import { instanceNews } from "../provider/samples";

const outputs = (fields: Readonly<Record<string, unknown>>, revision?: string, before = {}, settings = {}) =>
  outputsOf(
    callTo(new FakeService(), instanceKind, settings),
    { id: "ins-1", fields: { id: "ins-1", ...fields }, revision },
    { hidden: parseDesired(instanceNews()), values: {}, remoteValues: {}, before },
  );

test("the fractions that a list shows are no change in dates among the other fields either", () => {
  const before = outputs({ updated_at: "2026-01-01T10:00:00Z" }, "r1");
  expect(outputs({ updated_at: "2026-01-01T10:00:00.250Z" }, "r1", before)).toEqual(before);
});

test("a list whose items carry no revision does not take it out of the state of an object that did not change", () => {
  const before = outputs({ status: "running", flavor: "m1.small" }, "r1");
  expect(outputs({ status: "running", flavor: "m1.small" }, undefined, before).revision).toBe("r1");
});

test("with an address field of their own, users still see the usual ones among the others", () => {
  const found = outputs(
    { ip_address: "10.0.0.7", floating: "198.51.100.1" },
    "r1",
    {},
    { "cloudinfra:ipAddressField": "floating" },
  );
  expect(found).toMatchObject({
    ipAddress: "198.51.100.1",
    additionalProperties: { ip_address: "10.0.0.7" },
  });
});

test("other texts with a number in them are no dates: their changes are seen", () => {
  const before = outputs({ place: "rack 4" }, "r1");
  expect(outputs({ place: "row 4" }, "r2", before)).toHaveProperty("additionalProperties.place", "row 4");
});

test("a list whose items carry no revision, and show that something moved, takes it out: the next update compares", () => {
  const before = outputs({ status: "running", updated_at: "2026-01-01T10:00:00Z" }, "r1");
  const moved = { status: "running", updated_at: "2026-01-01T10:00:01Z" };
  expect("revision" in outputs(moved, undefined, before)).toBe(false);
});
