import { describe, expect, test } from "vitest";
import { instanceKind } from "../../src/model/resource-fields";
import { type Properties, parseRecorded, toBag } from "../../src/model/state";
import { read } from "../../src/provider/read";
import { callTo } from "./fake-call";
import { FakeService } from "./fake-service";
import { instanceNews } from "./samples";

/** Returns the state after a refresh that reads these fields at a new revision. */
async function refreshed(state: Properties, remote: Properties): Promise<Properties> {
  const fake = new FakeService();
  fake.addProject("prj-1");
  const fields = { ...instanceNews(), id: "ins-1", ...remote };
  fake.instances.set("ins-1", { id: "ins-1", fields, revision: "r2", isFromOwnUrl: true });
  const endpoint = "https://api.example.com/v1";
  const olds = parseRecorded({ ...instanceNews(), revision: "r1", __endpoint: endpoint, ...state });
  const found = await read(callTo(fake, instanceKind), "ins-1", olds);
  if (found === undefined) throw new Error("the refresh doesn't find the instance");
  return toBag(found.props);
}

describe("a refresh", () => {
  const address = "198.51.100.7";

  test("keeps a pinned address that the service has never returned", async () => {
    const props = await refreshed(
      { publicIp: address, __words: { publicIp: null } },
      { public_ip: null, ip_address: null },
    );
    expect(props.publicIp).toBe(address);
  });

  test.each(["auto", "none", "static"])(
    "records the mode %s that replaced a pinned address",
    async (mode) => {
      const props = await refreshed(
        { publicIp: address, ipAddress: address, __shown: ["publicIp", "ipAddress"] },
        { public_ip: mode, ip_address: null },
      );
      expect(props.publicIp).toBe(mode);
    },
  );

  test("keeps the mark of an unspecified mode that an address replaced", async () => {
    const props = await refreshed(
      { publicIp: "floating", ipAddress: "203.0.113.5", __words: { publicIp: null } },
      { public_ip: null, ip_address: "203.0.113.9" },
    );
    const mark = { value: "floating", word: null };
    expect(props).toMatchObject({ publicIp: "203.0.113.9", __applied: { publicIp: mark } });
  });

  test("records no remote values for labels that equal the state", async () => {
    const props = await refreshed({ labels: { env: "a" } }, { labels: { env: "b" } });
    expect(props.labels).toEqual({ env: "b" });
    expect("__words" in props).toBe(false);
  });
});
