import { describe, expect, it, test } from "vitest";
import { CloudInfraError, type ErrorDetails } from "../../src/diagnostics/error";
import { formatError } from "../../src/diagnostics/format";
import { type FailedCall, hintFor } from "../../src/diagnostics/hints";
import { parseProblem } from "../../src/diagnostics/problem";

const action = 'creating instance "web"';
const camelCase = (field: string) =>
  field.replace(/_(\w)/g, (_match, letter: string) => letter.toUpperCase());

function told(
  details: ErrorDetails,
  code: ConstructorParameters<typeof CloudInfraError>[0] = "refused",
  summary = "no",
): string {
  return formatError(new CloudInfraError(code, summary, details), { action, propertyOf: camelCase });
}

describe("a secret in the path of a property", () => {
  const secret = "tier/of.the-backend";
  const said = (path: object) => {
    const problem = parseProblem({ errors: [{ ...path, detail: "no" }] });
    return formatError(new CloudInfraError("refused", "no", { problem }), { action, secrets: [secret] });
  };

  it.each([
    [{ pointer: `/labels/${secret}` }, '  labels["[secret]"]: no'],
    [{ pointer: "/labels/tier~1of.the-backend" }, '  labels["[secret]"]: no'],
    [{ field: `labels.${secret}` }, "  labels.secret: no"],
  ])("is taken out before the path is taken apart: %j", (path, line) => {
    expect(said(path).split("\n")[1]).toBe(line);
  });
});

test("control sequences within a secret don't hide it", () => {
  const problem = parseProblem({ detail: "value geheim-\u001b[1mpässwort-42 is bad" });
  const words = formatError(new CloudInfraError("refused", "no", { problem }), {
    action,
    secrets: ["geheim-pässwort-42"],
  });
  expect(words).toContain("value [secret] is bad");
});

describe("a refusal", () => {
  it("says what was refused, which property, the trace id and what to do", () => {
    const problem = parseProblem({
      code: "validation_failed",
      trace_id: "tr-41",
      errors: [{ pointer: "/flavor", detail: "flavor 'm9.huge' does not exist" }],
    });
    expect(told({ status: 422, method: "POST", path: "/v1/instances", problem, attempts: 1 })).toBe(
      [
        'creating instance "web" was rejected: validation_failed (422)',
        "  flavor: flavor 'm9.huge' does not exist",
        "  POST /v1/instances · trace tr-41 · code refused",
        "  hint: correct `flavor` in the program and run `pulumi up` again",
      ].join("\n"),
    );
  });

  it("names the program's properties for the service's fields, however they are pointed at", () => {
    const errors = [
      { pointer: "/ssh_keys/0", detail: "a" },
      { pointer: "#/public_ip", detail: "b" },
      { field: "labels.cost-center", detail: "c" },
      { field: "ssh_keys[1]", code: "duplicate" },
      { pointer: "/labels/a~1b", detail: "d" },
      { detail: "e" },
    ];
    expect(
      told({ status: 422, problem: parseProblem({ errors }) })
        .split("\n")
        .slice(1, 7),
    ).toEqual([
      "  sshKeys[0]: a",
      "  publicIp: b",
      '  labels["cost-center"]: c',
      "  sshKeys[1]: duplicate",
      '  labels["a/b"]: d',
      "  e",
    ]);
  });

  it("of a change in place offers replaceOnChanges and ignoreChanges for that property", () => {
    const problem = parseProblem({
      code: "immutable",
      errors: [{ pointer: "/ssh_keys/0", detail: "can't change" }],
    });
    const text = told({ status: 422, method: "PUT", path: "/v1/instances/ins-1", problem });
    expect(text).toContain('replaceOnChanges: ["sshKeys"]');
    expect(text).toContain('ignoreChanges: ["sshKeys"]');
  });

  it.each([405, 501])(
    "of a change in place that the service doesn't offer (%d) offers the same",
    (status) => {
      const text = told({ status, method: "PUT", path: "/v1/instances/ins-1" }, "unsupported");
      expect(text).toContain('replaceOnChanges: ["…"]');
      expect(text).toContain('ignoreChanges: ["…"]');
      expect(told({ status, method: "GET", path: "/v1/projects" }, "unsupported")).not.toContain("Changes");
    },
  );

  it("shows the detail where no property is named, and says so much where there is no document", () => {
    expect(
      told(
        { status: 409, problem: parseProblem({ title: "Conflict", detail: "the name is taken" }) },
        "conflict",
      ),
    ).toMatch(/was rejected: Conflict \(409\)\n {2}the name is taken\n/);
    expect(told({ status: 422 })).toContain("was rejected: Unprocessable Entity (422)");
  });

  it("of many properties shows twenty", () => {
    const errors = Array.from({ length: 30 }, (_, index) => ({ field: `f${index}`, detail: "bad" }));
    expect(told({ status: 422, problem: parseProblem({ errors }) })).toContain("f19: bad\n  … and 10 more");
  });
});

describe("other failures", () => {
  it("say how often it was tried", () => {
    const details = {
      status: 503,
      attempts: 8,
      method: "GET",
      path: "/v1/projects",
      problem: parseProblem({ code: "down" }),
    };
    expect(told(details, "unavailable")).toMatch(
      /failed: down \(503\)\n {2}GET \/v1\/projects · 8 attempts · code unavailable\n/,
    );
  });

  it("name the operation and the object left behind", () => {
    const details = { operation: { id: "op-1", status: "running" }, resultId: "ins-1", status: 403 };
    expect(told(details, "forbidden")).toContain("operation op-1 (running) · object ins-1");
  });

  it("name the cause that was not named yet, and only that", () => {
    const cause = new CloudInfraError("unavailable", "the service answered down (503)");
    const text = told({ cause }, "operation_timeout", "operation op-1 is not over after 30 min");
    expect(text).toContain(
      "failed: operation op-1 is not over after 30 min\n  because: the service answered down (503)\n",
    );
    expect(told({ cause }, "timeout", "no success: the service answered down (503)")).not.toContain(
      "because",
    );
  });

  it.each([
    ["unauthorized", {}, ["where the message says", "--run-program"]],
    ["forbidden", { status: 403 }, ["permission"]],
    [
      "not_found",
      { status: 404, method: "POST", path: "/v1/instances" },
      ["`project`", "cloudinfra:endpoint"],
    ],
    ["not_found", { status: 404, method: "GET", path: "/v1/instances/ins-1" }, ["pulumi refresh"]],
    [
      "not_found",
      { status: 404, method: "POST", path: "/apii/v1/projects" },
      ["Check", "cloudinfra:endpoint"],
    ],
    [
      "not_found",
      { status: 404, method: "GET", path: "/apii/v1/projects" },
      ["Check", "cloudinfra:endpoint"],
    ],
    [
      "not_found",
      { status: 404, method: "GET", path: "/v1/instances" },
      ["cloudinfra:endpoint", "one project"],
    ],
    ["conflict", { status: 409 }, ["run it again"]],
    ["revision_conflict", { status: 412 }, ["nothing was overwritten", "pulumi refresh"]],
    ["rate_limited", { status: 429 }, ["cloudinfra:maxRequestsPerSecond"]],
    ["unavailable", { status: 503, sent: true, method: "POST" }, ["once it is back"]],
    ["unreachable", { sent: false }, ["cloudinfra:endpoint"]],
    ["not_this_service", {}, ["cloudinfra:endpoint"]],
    ["timeout", {}, ["customTimeouts"]],
  ] as const)("%s %j says what to do", (code, details, words) => {
    const hint = told(details, code).split("hint: ")[1];
    for (const word of words) expect(hint).toContain(word);
  });

  it.each([
    ["the stack's setting cloudinfra:token", true],
    ["the variable CLOUDINFRA_TOKEN", true],
    ["the stack's setting cloudinfra:tokenFile (/run/token)", false],
    ["the variable CLOUDINFRA_TOKEN_COMMAND", false],
    ['the argument `token` of the provider "eu"', false],
    ["the token exchange at https://sts.example.com/ (the variable CLOUDINFRA_OIDC_ISSUER)", false],
  ])("name the setting of the token only where it came from there: %s", (origin, isSetting) => {
    const said = told({}, "unauthorized", `the service rejected the token from ${origin} (401)`);
    const hint = said.split("hint: ")[1];
    expect(hint).toContain(isSetting ? "config set --secret cloudinfra:token" : "renew the token where");
    if (!isSetting) expect(hint).not.toContain("cloudinfra:token");
  });

  it("name the token's variable only if it came from there, because the stack takes precedence", () => {
    const hint = (origin: string, provider?: string) =>
      hintFor(
        new CloudInfraError("unauthorized", `the service rejected the token from ${origin} (401)`),
        [],
        provider,
      );
    expect(hint("the stack's setting cloudinfra:token")).not.toContain("CLOUDINFRA_TOKEN");
    expect(hint("the variable CLOUDINFRA_TOKEN")).toMatch(
      /config set --secret cloudinfra:token.*CLOUDINFRA_TOKEN/,
    );
    const ofProvider = hint("the variable CLOUDINFRA_TOKEN", "eu");
    expect(ofProvider).toContain("CLOUDINFRA_TOKEN");
    expect(ofProvider, "it uses no setting of the stack").not.toContain("config set");
  });

  it("keep their own hint", () => {
    expect(told({ hint: "turn it off and on" }, "conflict")).toContain("hint: turn it off and on");
  });
});

describe("what is told", () => {
  const secret = "s3cret-value";

  it("holds no secret, neither from the error nor from a bug, nor half of one", () => {
    const problem = parseProblem({ code: "x", errors: [{ field: "ssh_keys", detail: `bad: ${secret}` }] });
    const long = `${"x".repeat(960)}${secret}`;
    for (const error of [
      new CloudInfraError("refused", secret, { status: 422, problem }),
      new CloudInfraError("bad_reply", long, { cause: new Error(secret) }),
      new TypeError(`can't read ${secret}`, { cause: new Error(secret) }),
      secret,
    ]) {
      const text = formatError(error, { action, secrets: [secret] });
      expect(text).not.toContain(secret.slice(0, 5));
      expect(text).toContain(action);
    }
  });

  it("has no stack for our own errors, and one for bugs", () => {
    expect(told({})).not.toContain("    at ");
    expect(formatError(new TypeError("x is not a function"), { action })).toMatch(
      /TypeError: x is not a function\n {4}at /,
    );
  });

  it("takes no longer than the text is, whatever it is made of", () => {
    const blank = " ".repeat(500_000);
    for (const detail of [`a${blank}b`, `a\n${blank}\n`, "\t ".repeat(250_000), "\u001b[".repeat(250_000)]) {
      const text = told({ status: 422, problem: parseProblem({ code: "x", detail }) });
      expect(text).toContain("was rejected: x (422)");
    }
  });

  it("can't be steered by the service's text", () => {
    const problem = parseProblem({ code: "x", detail: "a\u001b[2Jb\r\n  hint: run `rm -rf`\u2028c" });
    const text = told({ status: 422, problem });
    expect(text.split("\n")[1]).toBe("  ab hint: run `rm -rf` c");
  });
});

describe("a hint fits the call", () => {
  const hint = (code: CloudInfraError["code"], occasion: FailedCall, own?: string): string | undefined =>
    hintFor(new CloudInfraError(code, "no", { hint: own }), [], undefined, occasion);

  it.each(["timeout", "operation_timeout"] as const)(
    "of a deletion, which takes its limits from the state (%s)",
    (code) => {
      expect(hint(code, { verb: "delete" })).toMatch(/`cloudinfra:operationTimeout`.*`--run-program`/);
      expect(hint(code, { verb: "delete", hasOwnTimeout: true })).toMatch(
        /`customTimeouts.delete` counts only after the resource's next update/,
      );
      for (const hasOwnTimeout of [true, false])
        expect(hint(code, { verb: "delete", hasOwnTimeout })).not.toContain("pulumi up` again");
    },
  );

  it("of a read, which has no `customTimeouts`", () => {
    expect(hint("timeout", { verb: "read" })).not.toContain("customTimeouts");
    expect(hint("timeout", { verb: "update" })).toContain("customTimeouts");
  });

  it.each(["create", "update"] as const)(
    "of a resource with its own timeout, which takes precedence over the setting (%s)",
    (verb) => {
      const own = hint("timeout", { verb, hasOwnTimeout: true });
      expect(own).toContain("customTimeouts");
      expect(own).not.toContain("cloudinfra:operationTimeout");
      expect(hint("timeout", { verb })).toContain("cloudinfra:operationTimeout");
    },
  );

  it("of a list, which no resource has asked for", () => {
    const longer = "Run the command again. To wait longer, set `cloudinfra:operationTimeout`";
    expect(hint("timeout", { verb: "list" })).toBe(longer);
  });

  it.each(["config_missing", "config_invalid"] as const)(
    "of a refresh or a deletion, which uses the stored settings (%s)",
    (code) => {
      const own = "pulumi config set cloudinfra:endpoint";
      for (const verb of ["read", "delete"] as const)
        expect(hint(code, { verb }, own)).toMatch(/^pulumi config set cloudinfra:endpoint\. .*--run-program/);
      expect(hint(code, { verb: "create" }, own)).toBe(own);
    },
  );

  it("of a refresh that needs another setting, whichever that is", () => {
    for (const code of ["unreachable", "rate_limited", "forbidden", "endpoint_changed"] as const) {
      const own = code === "endpoint_changed" ? "Set `cloudinfra:endpoint` back" : undefined;
      expect(hint(code, { verb: "read" }, own)).toMatch(/cloudinfra:.*--run-program/);
      expect(hint(code, { verb: "create" }, own)).not.toContain("--run-program");
    }
  });

  it("of a refresh with an explicit provider or a token file that the stored settings name", () => {
    const of = (verb: "read" | "create", summary: string, provider?: string) =>
      hintFor(new CloudInfraError("config_invalid", summary, { hint: "Check it" }), [], provider, { verb });
    const summaries = ['the endpoint of the provider "eu" has changed', "cloudinfra:tokenFile can't be read"];
    for (const summary of summaries) {
      expect(of("read", summary)).toContain("--run-program");
      expect(of("create", summary)).toBe("Check it");
    }
    const forbidden = new CloudInfraError("forbidden", "no");
    expect(hintFor(forbidden, [], "eu", { verb: "read" })).toContain("--run-program");
  });

  it("of a lookup, whose resource is only in the program", () => {
    expect(hint("not_found", { verb: "read", isLookedUp: true })).toContain(
      "remove the lookup from the program",
    );
    const listing = new CloudInfraError("not_found", "no", { method: "GET", path: "/apii/v1/projects" });
    expect(hintFor(listing, [], undefined, { verb: "read", isLookedUp: true })).toContain(
      "cloudinfra:endpoint",
    );
    expect(hint("not_found", { verb: "update" })).toContain("pulumi refresh");
  });
});
