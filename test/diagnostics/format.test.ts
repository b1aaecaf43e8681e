import { describe, expect, it, test } from "vitest";
import { CloudInfraError, type ErrorDetails } from "../../src/diagnostics/error";
import { formatError } from "../../src/diagnostics/format";
import { type FailedCall, hintFor } from "../../src/diagnostics/hints";
import { parseProblem } from "../../src/diagnostics/problem";

const action = 'creating instance "web"';
const camelCase = (field: string) =>
  field.replace(/_(\w)/g, (_match, letter: string) => letter.toUpperCase());

function format(
  details: ErrorDetails,
  code: ConstructorParameters<typeof CloudInfraError>[0] = "refused",
  summary = "no",
): string {
  return formatError(new CloudInfraError(code, summary, details), { action, propertyOf: camelCase });
}

describe("a secret in a property path", () => {
  const secret = "tier/of.the-backend";
  const said = (path: object) => {
    const problem = parseProblem({ errors: [{ ...path, detail: "no" }] });
    return formatError(new CloudInfraError("refused", "no", { problem }), { action, secrets: [secret] });
  };

  it.each([
    [{ pointer: `/labels/${secret}` }, '  labels["[secret]"]: no'],
    [{ pointer: "/labels/tier~1of.the-backend" }, '  labels["[secret]"]: no'],
    [{ field: `labels.${secret}` }, "  labels.secret: no"],
  ])("is redacted before the path is split: %j", (path, line) => {
    expect(said(path).split("\n")[1]).toBe(line);
  });
});

test("redacts a secret that contains control sequences", () => {
  const problem = parseProblem({ detail: "value geheim-\u001b[1mpässwort-42 is bad" });
  const words = formatError(new CloudInfraError("refused", "no", { problem }), {
    action,
    secrets: ["geheim-pässwort-42"],
  });
  expect(words).toContain("value [secret] is bad");
});

describe("a rejected request", () => {
  it("has action, property, trace id, code and hint", () => {
    const problem = parseProblem({
      code: "validation_failed",
      trace_id: "tr-41",
      errors: [{ pointer: "/flavor", detail: "flavor 'm9.huge' does not exist" }],
    });
    expect(format({ status: 422, method: "POST", path: "/v1/instances", problem, attempts: 1 })).toBe(
      [
        'creating instance "web" failed: validation_failed (422)',
        "  flavor: flavor 'm9.huge' does not exist",
        "  POST /v1/instances · trace tr-41 · code refused",
        "  hint: Correct `flavor` in the program, and run `pulumi up` again.",
        "  docs: pulumi-cloudinfra/docs/errors.md#refused",
      ].join("\n"),
    );
  });

  it("converts pointers and field names of the service to property paths", () => {
    const errors = [
      { pointer: "/ssh_keys/0", detail: "a" },
      { pointer: "#/public_ip", detail: "b" },
      { field: "labels.cost-center", detail: "c" },
      { field: "ssh_keys[1]", code: "duplicate" },
      { pointer: "/labels/a~1b", detail: "d" },
      { detail: "e" },
    ];
    expect(
      format({ status: 422, problem: parseProblem({ errors }) })
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

  it("has a hint with replaceOnChanges and ignoreChanges after a change in place", () => {
    const problem = parseProblem({
      code: "immutable",
      errors: [{ pointer: "/ssh_keys/0", detail: "can't change" }],
    });
    const text = format({ status: 422, method: "PUT", path: "/v1/instances/ins-1", problem });
    expect(text).toContain('replaceOnChanges: ["sshKeys"]');
    expect(text).toContain('ignoreChanges: ["sshKeys"]');
  });

  it.each([405, 501])("has the same hint if the service doesn't support changes in place (%d)", (status) => {
    const text = format({ status, method: "PUT", path: "/v1/instances/ins-1" }, "unsupported");
    expect(text).toContain('replaceOnChanges: ["…"]');
    expect(text).toContain('ignoreChanges: ["…"]');
    expect(format({ status, method: "GET", path: "/v1/projects" }, "unsupported")).not.toContain("Changes");
  });

  it("has the detail if no property is named, and the status text if there is no problem document", () => {
    expect(
      format(
        { status: 409, problem: parseProblem({ title: "Conflict", detail: "the name is taken" }) },
        "conflict",
      ),
    ).toMatch(/failed: Conflict \(409\)\n {2}the name is taken\n/);
    const problem = parseProblem({ code: "name_taken", title: "The name is taken" });
    expect(format({ status: 409, problem }, "conflict")).toContain("\n  The name is taken\n");
    expect(format({ status: 422 })).toContain("failed: Unprocessable Entity (422)");
  });

  it("has at most twenty properties", () => {
    const errors = Array.from({ length: 30 }, (_, index) => ({ field: `f${index}`, detail: "bad" }));
    expect(format({ status: 422, problem: parseProblem({ errors }) })).toContain("f19: bad\n  … and 10 more");
  });
});

describe("any other error", () => {
  it("has the number of attempts", () => {
    const details = {
      status: 503,
      attempts: 8,
      method: "GET",
      path: "/v1/projects",
      problem: parseProblem({ code: "down" }),
    };
    expect(format(details, "unavailable")).toMatch(
      /failed: down \(503\)\n {2}GET \/v1\/projects · 8 attempts · code unavailable\n/,
    );
  });

  it("has the operation, and the object that is left behind", () => {
    const details = { operation: { id: "op-1", status: "running" }, resultId: "ins-1", status: 403 };
    expect(format(details, "forbidden")).toContain("operation op-1 (running) · object ins-1");
  });

  it("has the cause only if the headline doesn't contain it", () => {
    const cause = new CloudInfraError("unavailable", "the service returned down (503)");
    const text = format({ cause }, "operation_timeout", "timed out after 30 min waiting for operation op-1");
    expect(text).toContain(
      "failed: timed out after 30 min waiting for operation op-1\n  cause: the service returned down (503)\n",
    );
    expect(format({ cause }, "timeout", "timed out: the service returned down (503)")).not.toContain(
      "because",
    );
  });

  it.each([
    ["unauthorized", {}, ["Make sure that this setting or argument provides a valid token"]],
    ["forbidden", { status: 403 }, ["permission"]],
    [
      "not_found",
      { status: 404, method: "POST", path: "/v1/instances" },
      ["`project`", "cloudinfra:endpoint"],
    ],
    [
      "not_found",
      { status: 404, method: "PUT", path: "/v1/instances/ins-1" },
      ["Grant the token permission to change the object"],
    ],
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
      ["cloudinfra:endpoint", "of a project"],
    ],
    ["conflict", { status: 409 }, ["run the command again"]],
    ["revision_conflict", { status: 412 }, ["Nothing was overwritten", "pulumi refresh"]],
    ["rate_limited", { status: 429 }, ["cloudinfra:maxRequestsPerSecond"]],
    ["unavailable", { status: 503, sent: true, method: "POST" }, ["when the service has recovered"]],
    ["unreachable", { sent: false }, ["cloudinfra:endpoint"]],
    ["not_this_service", {}, ["cloudinfra:endpoint"]],
    ["timeout", {}, ["customTimeouts"]],
  ] as const)("%s %j has a hint for the next step", (code, details, words) => {
    const hint = format(details, code).split("hint: ")[1];
    for (const word of words) expect(hint).toContain(word);
  });

  it.each([
    ["the stack setting cloudinfra:token", true],
    ["the environment variable CLOUDINFRA_TOKEN", true],
    ["the stack setting cloudinfra:tokenFile (/run/token)", false],
    ["the environment variable CLOUDINFRA_TOKEN_COMMAND", false],
    ['the `token` argument of the provider "eu"', false],
    [
      "the token exchange at https://sts.example.com/ (the environment variable CLOUDINFRA_OIDC_ISSUER)",
      false,
    ],
  ])(
    "has the setting cloudinfra:token in the hint only if the token comes from it: %s",
    (origin, isSetting) => {
      const said = format({}, "unauthorized", `the service rejected the token from ${origin} (401)`);
      const hint = said.split("hint: ")[1];
      expect(hint).toContain(
        isSetting
          ? "config set --secret cloudinfra:token"
          : "Make sure that this setting or argument provides a valid token",
      );
      if (!isSetting) expect(hint).not.toContain("cloudinfra:token");
    },
  );

  it("names the source of a token that is rejected while an operation runs", () => {
    const summary = 'the service rejected the token from the `token` argument of the provider "eu" (401)';
    const operation = { id: "op-1", status: "running" };
    expect(format({ status: 401, operation }, "unauthorized", summary)).toContain(`failed: ${summary}\n`);
  });

  it("has CLOUDINFRA_TOKEN in the hint only if the token comes from it, because the stack takes precedence", () => {
    const hint = (origin: string, provider?: string) =>
      hintFor(
        new CloudInfraError("unauthorized", `the service rejected the token from ${origin} (401)`),
        [],
        provider,
      );
    expect(hint("the stack setting cloudinfra:token")).not.toContain("CLOUDINFRA_TOKEN");
    expect(hint("the environment variable CLOUDINFRA_TOKEN")).toMatch(
      /config set --secret cloudinfra:token.*CLOUDINFRA_TOKEN/,
    );
    const ofProvider = hint("the environment variable CLOUDINFRA_TOKEN", "eu");
    expect(ofProvider).toContain("CLOUDINFRA_TOKEN");
    expect(ofProvider, "it uses no setting of the stack").not.toContain("config set");
  });

  it("keeps its own hint", () => {
    expect(format({ hint: "turn it off and on" }, "conflict")).toContain("hint: turn it off and on");
  });
});

describe("a formatted message", () => {
  const secret = "s3cret-value";

  it("contains no secret or part of one, from errors and from bugs", () => {
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

  it("has a stack only for bugs", () => {
    expect(format({})).not.toContain("    at ");
    expect(formatError(new TypeError("x is not a function"), { action })).toMatch(
      /TypeError: x is not a function\n {4}at /,
    );
  });

  it("is created in linear time", () => {
    const blank = " ".repeat(500_000);
    for (const detail of [`a${blank}b`, `a\n${blank}\n`, "\t ".repeat(250_000), "\u001b[".repeat(250_000)]) {
      const text = format({ status: 422, problem: parseProblem({ code: "x", detail }) });
      expect(text).toContain("failed: x (422)");
    }
  });

  it("contains no control characters of the service's text", () => {
    const problem = parseProblem({ code: "x", detail: "a\u001b[2Jb\r\n  hint: run `rm -rf`\u2028c" });
    const text = format({ status: 422, problem });
    expect(text.split("\n")[1]).toBe("  ab hint: run `rm -rf` c");
  });

  it("contains no control characters of an error that is a bug", () => {
    const text = formatError(new TypeError("can't read a\u001b[2J\u0007"), { action });
    expect(text).toContain("TypeError: can't read a \n    at ");
  });
});

describe("a hint", () => {
  const hint = (code: CloudInfraError["code"], call: FailedCall, own?: string): string | undefined =>
    hintFor(new CloudInfraError(code, "no", { hint: own }), [], undefined, call);

  it.each(["timeout", "operation_timeout"] as const)(
    "fits a deletion, which takes its time limit from the state (%s)",
    (code) => {
      expect(hint(code, { verb: "delete" })).toMatch(/`cloudinfra:operationTimeout`.*`--run-program`/);
      expect(hint(code, { verb: "delete", hasOwnTimeout: true })).toMatch(
        /The new value takes effect after the next update of the resource/,
      );
      for (const hasOwnTimeout of [true, false])
        expect(hint(code, { verb: "delete", hasOwnTimeout })).not.toContain("pulumi up` again");
    },
  );

  it("fits a read, which has no `customTimeouts`", () => {
    expect(hint("timeout", { verb: "read" })).not.toContain("customTimeouts");
    expect(hint("timeout", { verb: "update" })).toContain("customTimeouts");
  });

  it.each(["create", "update"] as const)(
    "fits a resource with `customTimeouts`, which take precedence over the setting (%s)",
    (verb) => {
      const own = hint("timeout", { verb, hasOwnTimeout: true });
      expect(own).toContain("customTimeouts");
      expect(own).not.toContain("cloudinfra:operationTimeout");
      expect(hint("timeout", { verb })).toContain("cloudinfra:operationTimeout");
    },
  );

  it("fits a list, which has no resource", () => {
    const longer = "Run the command again. To wait longer, increase `cloudinfra:operationTimeout`";
    expect(hint("timeout", { verb: "list" })).toBe(longer);
  });

  it.each(["config_missing", "config_invalid"] as const)(
    "names --run-program for a refresh or a deletion, which uses the stored settings (%s)",
    (code) => {
      const own = "pulumi config set cloudinfra:endpoint";
      for (const verb of ["read", "delete"] as const)
        expect(hint(code, { verb }, own)).toMatch(/^pulumi config set cloudinfra:endpoint\. .*--run-program/);
      expect(hint(code, { verb: "create" }, own)).toBe(own);
    },
  );

  it("names --run-program for a refresh that needs another setting", () => {
    for (const code of ["unreachable", "rate_limited", "forbidden", "endpoint_changed"] as const) {
      const own = code === "endpoint_changed" ? "Set `cloudinfra:endpoint` back" : undefined;
      expect(hint(code, { verb: "read" }, own)).toMatch(/cloudinfra:.*--run-program/);
      expect(hint(code, { verb: "create" }, own)).not.toContain("--run-program");
    }
  });

  it("names --run-program for a refresh if the message names a provider or a setting", () => {
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

  it("names the arguments of an explicit provider in place of the stack's settings", () => {
    const of = (error: CloudInfraError, provider?: string) =>
      formatError(error, { action: "reading", provider });
    const limited = new CloudInfraError("rate_limited", "no");
    expect(of(limited)).toContain("`cloudinfra:maxRequestsPerSecond` or `cloudinfra:concurrency`");
    expect(of(limited, "eu")).toContain('`maxRequestsPerSecond` or `concurrency` of the provider "eu"');
    expect(of(new CloudInfraError("timeout", "no"), "$&")).toContain(
      'or increase `operationTimeout` of the provider "$&"',
    );
    const withHint = (hint: string) => of(new CloudInfraError("config_invalid", "no", { hint }), "eu");
    expect(
      withHint(
        "Set cloudinfra:caFile to urn:cloudinfra:x, not dynamic/cloudinfra:Project or cloudinfra:ins-1",
      ),
    ).toContain(
      'Set `caFile` of the provider "eu" to urn:cloudinfra:x, not dynamic/cloudinfra:Project or cloudinfra:ins-1',
    );
    expect(withHint("Set cloudinfra:caFile or cloudinfra:token")).toContain(
      'Set `caFile` or `token` of the provider "eu"',
    );
    expect(withHint("Check cloudinfra:caFile, then `cloudinfra:token`")).toContain(
      'Check `caFile` of the provider "eu", then `token`.',
    );
    expect(withHint("Set cloudinfra:journalDir to another folder")).toContain("Set cloudinfra:journalDir to");
  });

  it("doesn't change what the service says because of an explicit provider, and still redacts secrets", () => {
    const of = (error: CloudInfraError, secrets: string[] = []) =>
      formatError(error, { action: "reading", provider: "eu", secrets });
    const title = "label cloudinfra:owner is reserved";
    expect(
      of(new CloudInfraError("refused", "no", { status: 422, problem: parseProblem({ title }) })),
    ).toContain(title);
    const address = "Connect Timeout Error (attempted address: cloudinfra:8443)";
    expect(of(new CloudInfraError("unreachable", address))).toContain(address);
    const secret = "cloudinfra:owner";
    expect(
      of(new CloudInfraError("config_invalid", `no: ${secret}`, { hint: secret }), [secret]),
    ).not.toMatch(/owner/);
  });

  it("fits a lookup, whose resource is only in the program", () => {
    expect(hint("not_found", { verb: "read", isLookedUp: true })).toContain(
      "remove the lookup from the program",
    );
    const listing = new CloudInfraError("not_found", "no", { method: "GET", path: "/apii/v1/projects" });
    expect(hintFor(listing, [], undefined, { verb: "read", isLookedUp: true })).toContain(
      "cloudinfra:endpoint",
    );
    expect(hint("not_found", { verb: "update" })).toContain(
      "Grant the token permission to change the object",
    );
  });
});
