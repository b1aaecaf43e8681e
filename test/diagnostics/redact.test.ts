import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { redact } from "../../src/diagnostics/redact";

describe("redaction", () => {
  it("takes a secret out wherever it stands, as it is, JSON-escaped or percent-encoded", () => {
    const secret = 'p"a/s s\n';
    const text = [
      secret,
      JSON.stringify(secret),
      encodeURIComponent(secret),
      new URLSearchParams({ secret }).toString(),
    ].join("|");
    expect(redact(text, [secret])).toBe('[secret]|"[secret]"|[secret]|secret=[secret]');
  });

  it("takes it out where its slashes are escaped", () => {
    expect(redact('{"path":"a\\/b\\/c"', ["a/b/c"])).toBe('{"path":"[secret]"');
  });

  it("takes out the beginning of a secret that was cut short, and no other words", () => {
    expect(redact("sent hunter2-of…", ["hunter2-of-the-backend"])).toBe("sent [secret]…");
    expect(redact("a hunter2-of… b hunter… hunter", ["hunter2-of-the-backend"])).toBe(
      "a [secret]… b [secret]… hunter",
    );
    expect(redact("sent hun…", ["hunter2-of-the-backend"])).toBe("sent hun…");
  });

  it("leaves nothing of a secret that contains another one", () => {
    expect(redact("token-long-rest", ["token", "token-long-rest"])).toBe("[secret]");
  });

  it("leaves words alone that are too short to be a secret", () => {
    expect(redact("a web server", ["web", "", "a"])).toBe("a web server");
  });

  it("leaves no secret in any text", () => {
    const secret = fc.string({ minLength: 4, unit: "grapheme" }).filter((text) => !/[[\]\0]/.test(text));
    fc.assert(
      fc.property(fc.string(), secret, fc.string(), (before, hidden, after) => {
        expect(redact(`${before}${hidden}${after}`, [hidden]).replaceAll("[secret]", "\0")).not.toContain(
          hidden,
        );
      }),
    );
  });
});
