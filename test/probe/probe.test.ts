import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { type Behaviour, type Emulator, startEmulator } from "../../src/emulator";
import { profileText, readProfile } from "../../src/emulator/profile";
import { systemClock } from "../../src/polling/clock";
import { Exchanges } from "../../src/probe/reading";
import { examine } from "../../src/probe/reading-points";
import {
  type Finding,
  formatReport,
  isServiceUsable,
  observedBehaviour,
  reportAsJson,
  requiredSettings,
} from "../../src/probe/report";
import { Sessions } from "../../src/provider/context";
import { type Answer, startService } from "../api/service";
import type { PointId } from "./probed";

/** Starts an emulator with two projects and two instances. */
async function populated(options: { behaviour?: Partial<Behaviour>; like?: string } = {}): Promise<Emulator> {
  const emulator = await startEmulator(options);
  onTestFinished(() => emulator.stop());
  const project = emulator.addProject({ name: "shop" }).id;
  emulator.addProject({ name: "blog" });
  for (const name of ["web", "api"])
    emulator.addInstance({ project, name, public_ip: "auto", labels: { role: name } });
  return emulator;
}

/** Probes the service at an endpoint. */
async function probed(endpoint: string, token = "emulator-token"): Promise<Finding[]> {
  const env = { CLOUDINFRA_ENDPOINT: endpoint, CLOUDINFRA_TOKEN: token };
  const exchanges = new Exchanges();
  const retry = { maxAttempts: 3 };
  const overrides = { observe: exchanges.observe, retry };
  const session = new Sessions(env, systemClock, expect.fail, overrides).open();
  onTestFinished(() => session.close());
  return (await examine(session, exchanges)).findings;
}

const verdictOf = (findings: readonly Finding[], point: PointId) =>
  findings.find((one) => one.point === point)?.verdict;

describe("probing a service", () => {
  test("sends only GET requests, and reports that everything works if the service is as specified", async () => {
    const emulator = await populated();
    const findings = await probed(emulator.endpoint);
    expect(findings.filter(({ verdict }) => verdict !== "works")).toEqual([]);
    expect(new Set(emulator.requests.map(({ method }) => method))).toEqual(new Set(["GET"]));
    expect(emulator.requests.length).toBeLessThan(20);
    expect(requiredSettings(findings)).toEqual({});
  });

  test("reports a deleted instance that the service still lists", async () => {
    const emulator = await populated({ behaviour: { softDelete: "soft-deleted" } });
    const [id = ""] = emulator.instances.keys();
    await fetch(`${emulator.endpoint}/instances/${id}`, {
      method: "DELETE",
      headers: { authorization: `Bearer ${emulator.token}` },
    });
    expect(observedBehaviour(await probed(emulator.endpoint))).toMatchObject({ softDelete: "soft-deleted" });
  });

  test("names the settings that a service with unusual fields requires", async () => {
    const emulator = await populated({
      behaviour: { revision: "body", revisionField: "row_rev", ipField: "public_ip", unshown: ["public_ip"] },
    });
    for (const id of emulator.instances.keys()) emulator.edit(id, { wan: "203.0.113.99" });
    const findings = await probed(emulator.endpoint);
    expect(requiredSettings(findings)).toEqual({ revisionField: "row_rev", ipAddressField: "wan" });
    expect(formatReport(emulator.endpoint, findings)).toContain(
      "pulumi config set cloudinfra:revisionField row_rev",
    );
  });

  test("mentions that updates don't contain fields that are not arguments", async () => {
    const emulator = await populated();
    for (const id of emulator.instances.keys()) emulator.edit(id, { description: "the shop" });
    expect(await probed(emulator.endpoint)).toContainEqual(
      expect.objectContaining({
        point: "otherFields",
        observation: "description",
        consequence: "Updates don't contain these fields, so the service may remove their values",
      }),
    );
  });

  test("reports revisions that only lists contain", async () => {
    const emulator = await populated({
      behaviour: {
        revision: "body",
        spelling: ({ revision, ...fields }, place) => (place === "item" ? { ...fields, revision } : fields),
      },
    });
    expect(await probed(emulator.endpoint)).toContainEqual(
      expect.objectContaining({ point: "revision", verdict: "limited", observation: "Only in lists" }),
    );
  });

  test("marks what an empty account can't show", async () => {
    const emulator = await startEmulator();
    onTestFinished(() => emulator.stop());
    const findings = await probed(emulator.endpoint);
    expect(verdictOf(findings, "revision")).toBe("unknown");
    expect(isServiceUsable(findings)).toBe(true);
    expect(formatReport(emulator.endpoint, findings)).toContain("need existing objects");
  });

  test("stops at a rejected token, whose value appears nowhere", async () => {
    const emulator = await populated();
    const findings = await probed(emulator.endpoint, "t-very-secret");
    expect(findings.map(({ point, verdict }) => [point, verdict])).toEqual([
      ["address", "works"],
      ["token", "fails"],
    ]);
    const texts = formatReport(emulator.endpoint, findings) + JSON.stringify(reportAsJson("", findings));
    expect(texts).toContain("variable CLOUDINFRA_TOKEN");
    expect(texts).not.toContain("t-very-secret");
  });

  test("finds the API elsewhere on the host, without sending the token there", async () => {
    const api = { items: [], has_more: false, next_cursor: null };
    const seen: (string | undefined)[] = [];
    const { origin } = await startService(({ path, headers }): Answer => {
      if (path !== "/v1/projects") return { status: 404, body: "<html>not here</html>" };
      seen.push(headers.authorization);
      return { body: api };
    });
    const findings = await probed(`${origin}/cloud`);
    expect(findings).toMatchObject([{ point: "address", verdict: "fails" }]);
    expect(requiredSettings(findings)).toEqual({ endpoint: `${origin}/v1` });
    expect(seen).toEqual([undefined]);
  });

  test("waits and retries after a 429", async () => {
    const emulator = await populated();
    emulator.fail({ kind: "status", status: 429, retryAfter: 0, times: 2 });
    const findings = await probed(emulator.endpoint);
    expect(verdictOf(findings, "rateLimit")).toBe("limited");
    expect(verdictOf(findings, "address")).toBe("works");
  });

  test("reports that a service can't be reached, and why", async () => {
    const emulator = await populated();
    await emulator.pause();
    expect(await probed(emulator.endpoint)).toMatchObject([
      { point: "address", verdict: "fails", observation: expect.stringContaining("ECONNREFUSED") },
    ]);
  });

  test("reports cursors that lead nowhere, because lists would fail", async () => {
    const items = [
      { id: "a", name: "a" },
      { id: "b", name: "b" },
    ];
    const { origin } = await startService(({ path, query }): Answer => {
      if (!path.endsWith("/projects")) return { status: 404, body: { code: "not_found" } };
      const isShort = query.get("limit") === "1";
      return { body: { items: isShort ? items.slice(0, 1) : items, next_cursor: isShort ? "again" : null } };
    });
    const findings = await probed(origin);
    expect(verdictOf(findings, "projectPages")).toBe("fails");
    expect(isServiceUsable(findings)).toBe(false);
  });
});

describe("probing a service that misbehaves", () => {
  const PAGE = { items: [], has_more: false, next_cursor: null };
  const NOT_FOUND = { status: 404, body: { code: "not_found", title: "not found" } };

  /** Probes a service with one project and these replies to other requests. */
  async function findingsWith(answer: (path: string, token: string) => Answer): Promise<Finding[]> {
    const { origin } = await startService(({ path, headers }): Answer => {
      const token = headers.authorization ?? "";
      const isProjects = path === "/v1/projects" && token === "Bearer emulator-token";
      return isProjects ? { body: { ...PAGE, items: [{ id: "p", name: "shop" }] } } : answer(path, token);
    });
    return probed(origin);
  }

  test.each<[string, Answer, string]>([
    ["rejects lists of instances", { status: 403, body: { code: "forbidden" } }, "forbidden (403)"],
    ["fails to list instances", { status: 500, body: { code: "boom" } }, "boom (500)"],
    ["returns a web page for instances", { body: "<html></html>" }, "a web page"],
    ["returns instances in another form", { body: { items: { a: 1 } } }, "invalid cursor"],
    ["loses the cursor", { body: { items: [{ id: "a" }], has_more: true } }, "no cursor"],
  ])("reports that the package can't be used if it %s", async (_what, reply, observation) => {
    const findings = await findingsWith((path) => (path === "/v1/instances" ? reply : NOT_FOUND));
    const pages = findings.find(({ point }) => point === "instancePages");
    expect(pages).toMatchObject({ verdict: "fails", observation: expect.stringContaining(observation) });
    expect(isServiceUsable(findings)).toBe(false);
  });

  test("doesn't take a redirect to a login page for an accepted token", async () => {
    const login: Answer = { status: 302, headers: { location: "/login" }, body: "" };
    const findings = await findingsWith((path, token) =>
      path === "/v1/instances" ? { body: PAGE } : token.endsWith("wrong-token") ? login : NOT_FOUND,
    );
    const wrongToken = findings.find(({ point }) => point === "wrongToken");
    expect(wrongToken?.observation).toBe("302 with no problem document");
  });

  test.each([
    ["instance", { id: ".." }],
    ["project", undefined],
  ])("reports everything else if the id of the only %s can't be a part of a URL", async (_what, instance) => {
    const { origin } = await startService(({ path }): Answer => {
      const items = path === "/v1/projects" ? [{ id: "..", name: "shop" }] : instance ? [instance] : [];
      return /s$/.test(path) ? { body: { ...PAGE, items } } : NOT_FOUND;
    });
    const findings = await probed(origin);
    expect(findings.find(({ point }) => point === "ids")).toMatchObject({
      verdict: "limited",
      observation: 'The id ".." can\'t be a part of a URL',
    });
    expect(findings.map(({ point }) => point)).toEqual(
      expect.arrayContaining(["wrongToken", "singleObject", "clock"]),
    );
  });

  test("reports an outage as such, and not as a rejected token", async () => {
    const emulator = await populated();
    emulator.fail({ kind: "status", status: 503, times: Number.POSITIVE_INFINITY });
    const findings = await probed(emulator.endpoint);
    expect(findings).toMatchObject([
      { point: "address", verdict: "fails", observation: expect.stringContaining("(503)") },
    ]);
  });

  test("reports an API without /v1 in its address, which no setting can fix", async () => {
    const { origin } = await startService(
      ({ path }): Answer => (path === "/projects" ? { body: PAGE } : { status: 404, body: "no" }),
    );
    const findings = await probed(origin);
    expect(findings[0]?.consequence).toBe(
      `The API is at ${origin}, but this package requires an address that ends in /v1`,
    );
    expect(requiredSettings(findings)).toEqual({});
  });

  test("observes nothing about dates and filters in an account without instances", async () => {
    const emulator = await startEmulator();
    onTestFinished(() => emulator.stop());
    const findings = await probed(emulator.endpoint);
    for (const point of ["dates", "filters", "instancePages"] as const)
      expect(verdictOf(findings, point)).toBe("unknown");
  });
});

describe("a profile of a service", () => {
  /** What doesn't depend on time and place. */
  const lasting = (findings: readonly Finding[]) =>
    findings
      .filter(({ point }) => !["address", "speed", "clock", "ids", "links"].includes(point))
      .map(({ point, verdict, consequence }) => ({ point, verdict, consequence }));

  test("makes the emulator behave like the service, so that another probe finds the same", async () => {
    const behaviour: Partial<Behaviour> = {
      getObject: 404,
      ids: "number",
      revision: "body",
      revisionField: "version",
      emptyItems: "absent",
      lastCursor: "empty",
      traceIds: "constant",
      pageSize: 1,
      fractionalDates: true,
      itemsWithout: ["network"],
      absentValues: "null",
    };
    const first = await probed((await populated({ behaviour })).endpoint);
    const file = path.join(mkdtempSync(path.join(os.tmpdir(), "profile-")), "service.json");
    writeFileSync(file, profileText(observedBehaviour(first)));
    expect(readProfile(file)).toEqual(observedBehaviour(first));
    const second = await probed((await populated({ like: file })).endpoint);
    expect(lasting(second)).toEqual(lasting(first));
    expect(observedBehaviour(second)).toEqual(observedBehaviour(first));
  });

  test.each([
    ["not JSON", "{", "it isn't JSON"],
    ["another version", '{"version":2,"behaviour":{}}', "version: must be 1"],
    ["an unknown switch", '{"version":1,"behaviour":{"getobject":404}}', 'did you mean "getObject"?'],
    ["an invalid value", '{"version":1,"behaviour":{"getObject":500}}', "Use getObject=200|404|405"],
  ])("with %s is rejected with an error that names the file and the problem", (_what, text, problem) => {
    const file = path.join(mkdtempSync(path.join(os.tmpdir(), "profile-")), "service.json");
    writeFileSync(file, text);
    expect(() => readProfile(file)).toThrow(file);
    expect(() => readProfile(file)).toThrow(problem);
    expect(readFileSync(file, "utf8")).toBe(text);
  });
});
