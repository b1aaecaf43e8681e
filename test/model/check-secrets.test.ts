import fc from "fast-check";
import { expect, test } from "vitest";
import { instanceKind, projectKind } from "../../src/model/resource-fields";
import { KEY } from "../provider/samples";
import { check } from "../provider/typed";

/** Recognisable wherever it turns up. */
const secret = fc.stringMatching(/^[0-9a-f]{12}$/).map((digits) => `S3CRET-${digits}`);

/** A value of any type and depth with secrets at its leaves; keys are the program's own words, not secrets. */
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

test("no failure holds a value of the inputs, nor the property beside which the host would print one", () => {
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

test("check never throws and never drops an argument, whatever it is given", () => {
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
