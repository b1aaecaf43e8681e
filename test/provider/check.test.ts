import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { instanceKind, projectKind } from "../../src/model/resource-fields";
import { type Properties, toPlainJson } from "../../src/model/state";
import {
  instanceNews,
  KEY,
  OTHER_KEY,
  projectNews,
  SSH_KEY,
  UNKNOWN_LIST,
  UNKNOWN_MAP,
  UNKNOWN_TEXT,
} from "./samples";
import { check } from "./typed";

const reasons = (news: Properties): string[] =>
  check(instanceKind, {}, news).failures.map(({ reason }) => reason);
const withArgument = (name: string, value: unknown): string[] => reasons(instanceNews({ [name]: value }));

describe("a missing argument is reported:", () => {
  test.each(["project", "image", "flavor", "network"])("%s of an instance", (name) => {
    expect(withArgument(name, undefined)).toEqual([`${name}: is required`]);
  });

  test("region of a project", () => {
    const { region, ...news } = projectNews();
    expect(region).toBe("eu-1");
    expect(check(projectKind, {}, news).failures).toEqual([{ property: "", reason: "region: is required" }]);
  });

  test("all missing arguments of an instance at once", () => {
    expect(reasons({ __key: "k" })).toEqual([
      "project: is required",
      "image: is required",
      "flavor: is required",
      "network: is required",
    ]);
  });

  test("except for optional arguments", () => {
    expect(reasons(instanceNews({ name: undefined }))).toEqual([]);
  });
});

describe("an argument of the wrong type or without content is rejected:", () => {
  test.each([
    ["flavor", 4, "flavor: must be a string, but is a number"],
    ["flavor", true, "flavor: must be a string, but is a boolean"],
    ["flavor", null, "flavor: must be a string, but is null"],
    ["flavor", ["m1.small"], "flavor: must be a string, but is a list"],
    ["name", { first: "web" }, "name: must be a string, but is a map"],
    ["publicIp", false, "publicIp: must be a string, but is a boolean"],
    ["network", "", "network: must not be empty"],
    ["network", "  ", "network: must not be empty"],
    ["sshKeys", SSH_KEY, "sshKeys: must be a list, but is a string"],
    ["sshKeys", [SSH_KEY, 4], "sshKeys[1]: must be a string, but is a number"],
    ["sshKeys", [null], "sshKeys[0]: must be a string, but is null"],
    ["labels", "team=web", "labels: must be a map of strings, but is a string"],
    ["labels", ["team", "tier"], "labels: must be a map of strings, but is a list"],
    ["labels", { tier: 1 }, "labels.tier: must be a string, but is a number"],
    ["labels", { tier: { is: "web" } }, "labels.tier: must be a string, but is a map"],
  ])("%s: %j", (name, value, reason) => {
    expect(withArgument(name, value)).toEqual([reason]);
  });
});

describe("a value that is unknown in a preview is accepted:", () => {
  test.each([
    ["project", UNKNOWN_TEXT],
    ["name", UNKNOWN_TEXT],
    ["flavor", UNKNOWN_TEXT],
    ["publicIp", UNKNOWN_TEXT],
    ["sshKeys", UNKNOWN_TEXT],
    ["sshKeys", UNKNOWN_LIST],
    ["sshKeys", [SSH_KEY, UNKNOWN_TEXT]],
    ["labels", UNKNOWN_MAP],
    ["labels", { team: UNKNOWN_TEXT, tier: "web" }],
  ])("%s: %j", (name, value) => {
    const { inputs, failures } = check(instanceKind, {}, instanceNews({ [name]: value }));
    expect(failures).toEqual([]);
    expect(inputs[name]).toEqual(value);
  });

  test("but known values in the same list are checked", () => {
    expect(withArgument("sshKeys", [UNKNOWN_TEXT, ""])).toEqual(["sshKeys[1]: must not be empty"]);
  });
});

describe("misspelled arguments", () => {
  test("are rejected with a suggestion or the names of all arguments", () => {
    expect(withArgument("flavour", "m1.small")).toEqual([
      'unknown argument "flavour" of an instance; did you mean "flavor"?',
    ]);
    expect(check(projectKind, {}, projectNews({ zone: "a" })).failures[0]?.reason).toBe(
      'unknown argument "zone" of a project; the arguments are name, region',
    );
  });

  test("don't include hidden properties, even those with unknown names", () => {
    expect(reasons(instanceNews({ __defaults: [], __later: 1 }))).toEqual([]);
  });

  test("are reported all at once", () => {
    const news = instanceNews({ flavour: "a", sshkeys: [] });
    const named = check(instanceKind, {}, news).failures.map(
      ({ reason }) => /"(\w+)" of an/.exec(reason)?.[1],
    );
    expect(named).toEqual(["flavour", "sshkeys"]);
  });
});

describe("SSH keys", () => {
  test("with a line break at the end are rejected with a message that suggests trim()", () => {
    const [reason, ...others] = withArgument("sshKeys", [`${SSH_KEY}\n`]);
    expect(reason).toMatch(/^sshKeys\[0\]: must be a single line: .*\.trim\(\)/);
    expect(others).toEqual([]);
  });

  test("are rejected if one string contains two of them", () => {
    expect(withArgument("sshKeys", [`${SSH_KEY}\r\n${SSH_KEY}`])[0]).toMatch(
      /^sshKeys\[0\]: must be a single line/,
    );
  });
});

describe("a private key among the SSH keys", () => {
  test("is rejected with the advice to use the public key", () => {
    const key = "-----BEGIN OPENSSH PRIVATE KEY-----b3BlbnNzaC1rZXk";
    const [reason, ...others] = withArgument("sshKeys", [SSH_KEY, key]);
    expect(reason).toMatch(/^sshKeys\[1\]: is a private key: use the public key/);
    expect(others).toEqual([]);
  });

  test("is reported once, even if it contains line breaks", () => {
    const key = "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXk\n-----END OPENSSH PRIVATE KEY-----\n";
    const found = withArgument("sshKeys", [SSH_KEY, key]);
    expect(found).toHaveLength(1);
    expect(found[0]).toMatch(/^sshKeys\[1\]: is a private key/);
  });
});

describe("label keys", () => {
  test.each(["", " ", "two words", "tab\there"])("are rejected: %j", (key) => {
    expect(withArgument("labels", { [key]: "x" })[0]).toContain("must not be empty or contain white space");
  });

  test.each(["team", "example.org/tier", "Größe", "constructor", "a:b"])("are accepted: %j", (key) => {
    expect(withArgument("labels", { [key]: "x" })).toEqual([]);
  });

  test("with a line break are rejected with a message in one line", () => {
    const [reason] = withArgument("labels", { "two\nlines": "x" });
    expect(reason).toContain("must not be empty or contain white space");
    expect(reason).not.toContain("\n");
  });
});

test("messages about secret labels don't contain their keys", () => {
  const news = instanceNews({ labels: { "hunter 2": "x", ok: 5 }, __secrets: ["labels"] });
  const reasons = check(instanceKind, {}, news).failures.map(({ reason }) => reason);
  expect(reasons).toEqual([
    "labels[secret]: a label key must not be empty or contain white space",
    "labels[secret]: must be a string, but is a number",
  ]);
});

describe("customTimeouts", () => {
  test.each(["90s", "10m", "1h30m", "1.5h", "500ms"])("are accepted: %s", (create) => {
    expect(withArgument("__timeouts", { create })).toEqual([]);
  });

  test.each(["", "ten minutes", "90", "-5m", "0s", "5 m"])(
    "are rejected with the name of the operation: %j",
    (text) => {
      expect(withArgument("__timeouts", { create: "5m", delete: text })).toEqual([
        'customTimeouts.delete: must be a duration such as "90s", "10m" or "1h30m"',
      ]);
    },
  );

  test("are accepted if they are unknown in a preview", () => {
    expect(withArgument("__timeouts", { update: UNKNOWN_TEXT })).toEqual([]);
  });
});

/** A string that can be recognized in any message. */
const secret = fc.stringMatching(/^[0-9a-f]{12}$/).map((digits) => `S3CRET-${digits}`);

/** A value of any type and depth with secrets at its leaves. Keys aren't secret. */
const anyValue = fc.letrec((tie) => ({
  value: fc.oneof(
    { depthSize: "small" },
    secret,
    secret.map((text) => `${text}\n${text}`),
    secret.map((text) => `-----BEGIN PRIVATE KEY-----${text}`),
    fc.constantFrom(0, 1.5, true, null, "", " "),
    fc.array(tie("value"), { maxLength: 3 }),
    fc.dictionary(fc.constantFrom("a", "b c", "sshKeys"), tie("value"), { maxKeys: 3 }),
  ),
})).value;

const anyInputs = fc.dictionary(
  fc.constantFrom(
    ...["project", "name", "image", "flavor", "network", "publicIp", "sshKeys", "labels", "region"],
    ...["flavour", "__timeouts", "__secrets", "__urn"],
  ),
  anyValue,
);

test("failures contain neither values of the inputs nor a property, because the host would print its value", () => {
  let seen = 0;
  fc.assert(
    fc.property(anyInputs, fc.constantFrom(instanceKind, projectKind), (inputs, kind) => {
      const { failures } = check(kind, {}, { ...inputs, __key: KEY });
      for (const { property, reason } of failures) {
        seen += 1;
        expect(property).toBe("");
        expect(reason).not.toContain("S3CRET");
        expect(reason).not.toMatch(/\n/);
      }
    }),
    { numRuns: 2_000 },
  );
  expect(seen).toBeGreaterThan(2_000);
});

test("check never throws and never drops an argument, with any inputs", () => {
  fc.assert(
    fc.property(anyInputs, anyInputs, (olds, news) => {
      const { inputs } = check(instanceKind, olds, news);
      for (const [key, value] of Object.entries(news)) {
        if (!key.startsWith("__")) expect(inputs[key]).toEqual(value);
      }
    }),
    { numRuns: 1_000 },
  );
});

/** The inputs as the host gets them: without anything undefined. */
const checked = (olds: Properties, news: Properties): Properties =>
  toPlainJson(check(instanceKind, olds, news).inputs);

describe("the idempotency key", () => {
  test("of the first creation is kept, although the program passes a new one in each run", () => {
    const first = checked({}, instanceNews({ __key: KEY }));
    expect(first.__key).toBe(KEY);
    expect(checked(first, instanceNews({ __key: OTHER_KEY })).__key).toBe(KEY);
  });

  test("is kept in a preview, in which the program passes an unknown one", () => {
    expect(checked(instanceNews(), instanceNews({ __key: UNKNOWN_TEXT })).__key).toBe(KEY);
  });

  test("is new for a replacement, which is checked without old inputs", () => {
    expect(checked({}, instanceNews({ __key: OTHER_KEY })).__key).toBe(OTHER_KEY);
  });

  test("is the program's if an older state has none", () => {
    const { __key, ...older } = instanceNews();
    expect(__key).toBe(KEY);
    expect(checked(older, instanceNews({ __key: OTHER_KEY })).__key).toBe(OTHER_KEY);
  });

  const fresh = { region: "eu-1", __key: "fresh", __keyAt: 2 };
  const keyOf = (olds: Record<string, unknown>, unfinished?: { named: { key: string }; at: number }) => {
    const { __key, __keyAt } = check(projectKind, olds, fresh, { unfinished }).inputs;
    return { __key, __keyAt };
  };
  test("keeps its time, whether it is new, kept or from an interrupted creation", () => {
    expect(keyOf({})).toEqual({ __key: "fresh", __keyAt: 2 });
    expect(keyOf({ __key: "old", __keyAt: 1 })).toEqual({ __key: "old", __keyAt: 1 });
    expect(keyOf({ __key: "older than times" })).toEqual({ __key: "older than times", __keyAt: undefined });
    expect(keyOf({}, { named: { key: "left" }, at: 1 })).toEqual({ __key: "left", __keyAt: 1 });
  });
});
