import { expect, test } from "vitest";
import { compareRemoteValues, remoteValuesAfter } from "../../src/model/remote-values";
import { instanceFields } from "../../src/model/resource-fields";

test("reports no drift if the service returns null for an accepted value from the start", () => {
  const values = { publicIp: "auto" };
  const object = { public_ip: null, ip_address: "203.0.113.7" };
  const remoteValues = remoteValuesAfter(instanceFields, values, object);
  expect(compareRemoteValues(instanceFields, { values, remoteValues }, object)).toMatchObject({
    values,
    drifted: [],
  });
});

test("treats null as unknown if only a replacement can change the property", () => {
  const values = { image: "debian-13", project: "prj-1" };
  const seen = compareRemoteValues(
    instanceFields,
    { values, remoteValues: {} },
    { image: null, project: null },
  );
  expect(seen).toMatchObject({ values, drifted: [], omitted: ["project", "image"] });
});
