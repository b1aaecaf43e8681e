import fc from "fast-check";
import { expect, test } from "vitest";
import { type Normalization, normalizations, normalized } from "../../src/emulator/normalization";
import { instanceBody, open } from "./service";

const sent = {
  name: " Web ",
  image: "debian-13",
  flavor: "m1.small",
  network: "default",
  ssh_keys: ["ssh-ed25519 BBBB bob", "ssh-ed25519 AAAA ada@example.org"],
  labels: { tier: " Front ", size: "3" },
};

test.for<[Normalization, object]>([
  [
    "ids",
    {
      image: expect.stringMatching(/^img-[0-9a-f]{12}$/),
      flavor: expect.stringMatching(/^flv-/),
      network: expect.stringMatching(/^net-/),
    },
  ],
  ["upper-case", { image: "DEBIAN-13", flavor: "M1.SMALL", network: "DEFAULT" }],
  ["lower-case", { name: " web ", labels: { tier: " front ", size: "3" } }],
  ["trimmed", { name: "Web", labels: { tier: "Front", size: "3" } }],
  ["bare-keys", { ssh_keys: ["ssh-ed25519 AAAA", "ssh-ed25519 BBBB"] }],
  [
    "fingerprints",
    { ssh_keys: [expect.stringMatching(/^SHA256:.{43}$/), expect.stringMatching(/^SHA256:.{43}$/)] },
  ],
  ["numeric-labels", { labels: { tier: " Front ", size: 3 } }],
])(
  "values are normalized by %s in every reply, and a request may use either form",
  async ([way, expected]) => {
    const { call, emulator, given } = await open({ normalize: [way] });
    const { instance } = given(sent);
    const path = `/v1/instances/${instance}`;
    const reported = (await call("GET", path)).body;
    expect(reported).toMatchObject({ ...sent, ...expected });
    expect((await call("GET", "/v1/instances")).body.items).toMatchObject([{ ...sent, ...expected }]);

    const revision = emulator.instances.get(instance)?.revision;
    const fields = Object.keys(sent).map((name) => [name, reported[name]]);
    const headers = { "if-match": `"${revision}"` };
    const answer = await call("PUT", path, Object.fromEntries(fields), headers);
    expect(answer.status).toBe(200);
    expect(emulator.instances.get(instance)).toMatchObject({ revision, fields: sent });
  },
);

test("label filters compare the normalized value", async () => {
  const { call, given } = await open({ normalize: ["trimmed", "lower-case"] });
  given(sent);
  expect((await call("GET", "/v1/instances?label.tier=front")).body.items).toHaveLength(1);
  expect((await call("GET", "/v1/instances?label.tier=%20Front%20")).body.items).toHaveLength(0);
});

test("normalizing twice equals normalizing once, in every combination", () => {
  const text = fc.oneof(fc.string(), fc.constantFrom("1", "-0", "1e3", " a ", "IMG-000000000000", "ß", "İ"));
  const fields = fc.record({
    ...{ name: text, image: text, flavor: text, network: text, region: text },
    ssh_keys: fc.array(text),
    labels: fc.dictionary(text, text),
  });
  fc.assert(
    fc.property(fc.subarray([...normalizations]), fields, (ways, given) => {
      const once = normalized(ways, given);
      expect(normalized(ways, once)).toEqual(once);
    }),
  );
});

test("project names are normalized too", async () => {
  const { call } = await open({ normalize: ["upper-case", "trimmed"] });
  const created = await call("POST", "/v1/projects", { name: " shop ", region: "eu-1" });
  expect(created.body).toMatchObject({ name: "shop", region: "EU-1" });
  expect((await call("GET", "/v1/projects")).body.items).toMatchObject([{ name: "shop", region: "EU-1" }]);
  const body = instanceBody(String(created.body.id));
  expect((await call("POST", "/v1/instances", body)).status).toBe(202);
});
