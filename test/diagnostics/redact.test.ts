import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { redact, SecretForms } from "../../src/diagnostics/redact";

describe("redaction", () => {
  it("replaces a secret, also if it is JSON-escaped or percent-encoded", () => {
    const secret = 'p"a/s s\n';
    const text = [
      secret,
      JSON.stringify(secret),
      encodeURIComponent(secret),
      new URLSearchParams({ secret }).toString(),
    ].join("|");
    expect(redact(text, [secret])).toBe('[secret]|"[secret]"|[secret]|secret=[secret]');
  });

  it.each([
    "Tom&#39;s&amp;pässword+1",
    "Tom&#x27;s&amp;pässword+1",
    "Tom&#39;s&#38;pässword+1",
    String.raw`Tom\u0027s\u0026p\u00e4ssword\u002b1`,
    String.raw`Tom's&p\u00E4ssword+1`,
    new URLSearchParams({ "": "Tom's&pässword+1" }).toString().slice(1),
  ])("replaces it as %s", (text) => {
    expect(redact(`value ${text} is not allowed`, ["Tom's&pässword+1"])).toBe(
      "value [secret] is not allowed",
    );
  });

  it.each([
    ["Go", "a&amp;b&#34;c-hush", 'a&b"c-hush'],
    ["Python", String.raw`it\'s "hush"`, `it's "hush"`],
    ["SQL", "it''s-hush", "it's-hush"],
    ["validator.js", "a&#x2F;b&#x5C;c&#96;hush", "a/b\\c`hush"],
    ["Mustache", "a&#x60;b&#x3D;c-hush", "a`b=c-hush"],
    ["Go's html/template", "a&#43;b-hush", "a+b-hush"],
    ["PHP", "it&#039;s-hush", "it's-hush"],
    ["Python's quote", "a/b%20c%3Fhush", "a/b c?hush"],
    ["JSON within HTML", "it\\u0027s\\nhush", "it's\nhush"],
    ["JSON within JSON", String.raw`a\\\"b-hush`, 'a"b-hush'],
    ["a form with JSON", "it%5C%22s+hush", 'it"s hush'],
    ["bytes in hexadecimal", String.raw`geheim-p\xc3\xa4sswort`, "geheim-p\u00e4sswort"],
    ["bytes in octal", String.raw`geheim-p\303\244sswort`, "geheim-p\u00e4sswort"],
    ["Rust", String.raw`geheim-p\u{e4}sswort`, "geheim-p\u00e4sswort"],
    ["Go and Python, beyond 16 bits", String.raw`geheim-\U0001f600-42`, "geheim-\u{1f600}-42"],
    ["PHP's htmlentities", "geheim-p&auml;sswort", "geheim-p\u00e4sswort"],
    ["HTML in capitals", "p&AMP;w&LT;d-secret", "p&w<d-secret"],
    ["Latin-1 in a URL", "geheim-p%E4sswort", "geheim-p\u00e4sswort"],
    ["JavaScript's escape", "geheim-p%u00E4sswort", "geheim-p\u00e4sswort"],
    ["HTML beside what is no entity", "&constructor; p&amp;w-secret", "&constructor; p&w-secret"],
    ["another Unicode normalization", "Mu\u0308ller-hush", "M\u00fcller-hush"],
  ])("replaces it as %s writes it", (_where, text, secret) => {
    expect(redact(`value '${text}' is not allowed`, [secret])).toBe("value '[secret]' is not allowed");
  });

  it("takes no longer if there are thousands of secrets", () => {
    const secrets = new SecretForms().add(Array.from({ length: 5_000 }, (_, at) => `${at}-hush-${at}`));
    for (let at = 0; at < 5_000; at += 1)
      expect(redact(`value ${at}-hush-${at} isn't allowed`, secrets)).toBe("value [secret] isn't allowed");
  });

  it("replaces it in a URL, which has a slash instead of a backslash", () => {
    for (const slash of ["/", "//"])
      expect(redact(`GET /v1/8DXCrnUF${slash}h93LeUN6`, ["8DXCrnUF\\h93LeUN6"])).toBe("GET /v1/[secret]");
  });

  it("replaces it if its slashes are escaped", () => {
    expect(redact('{"path":"a\\/b\\/c"', ["a/b/c"])).toBe('{"path":"[secret]"');
  });

  it.each([
    [
      "in another case",
      "Top-Secret-Name",
      'the name "top-secret-name" is taken',
      'the name "[secret]" is taken',
    ],
    ["in another case, with only its beginning", "Hunter2-Of-It", "sent HUNTER2…", "sent [secret]…"],
    ["in another case, truncated in an escape", "Toms'-Hunter2", "sent toms&#3…", "sent [secret]…"],
    [
      "in a page without its markup",
      "hunter2 <b>  of  it</b>",
      "value hunter2 of it is bad",
      "value [secret] is bad",
    ],
    [
      "up to a character that begins markup",
      "hunter2-of<it",
      "value hunter2-of is bad",
      "value [secret] is bad",
    ],
    ["without surrounding whitespace", "  hunter2 \n", 'label "hunter2"', 'label "[secret]"'],
    ["line by line", "first line of it\r\n  second line\n", "bad: second line", "bad: [secret]"],
    [
      "without its comment, if it is an SSH key",
      "ssh-ed25519 AAAAC3SECRET me@laptop",
      "the key ssh-ed25519 AAAAC3SECRET is too short",
      "the key [secret] is too short",
    ],
    [
      "without its options and type, if it is an SSH key",
      'no-pty,command="nc ssh-gw 22" ssh-rsa AAAAB3SECRET== "me"',
      "AAAAB3SECRET==",
      "[secret]",
    ],
  ])("replaces a secret %s", (_how, secret, text, clean) => {
    expect(redact(text, [secret])).toBe(clean);
  });

  it("keeps short lines of a secret, which may be ordinary words", () => {
    expect(redact("a value is missing", ["value\nhunter2-of-the-backend"])).toBe("a value is missing");
  });

  it("replaces a secret next to letters whose lower case is longer", () => {
    expect(redact("İİ Hush-İ! rest", ["hush-İ!"])).toBe("İİ [secret] rest");
  });

  it("replaces the beginning of a truncated secret, and no other words", () => {
    expect(redact("sent hunter2-of…", ["hunter2-of-the-backend"])).toBe("sent [secret]…");
    expect(redact("a hunter2-of… b hunter… hunter", ["hunter2-of-the-backend"])).toBe(
      "a [secret]… b [secret]… hunter",
    );
    expect(redact("sent hun…", ["hunter2-of-the-backend"])).toBe("sent hun…");
  });

  it("replaces the ending of a secret without its middle or start, and no other words", () => {
    const secrets = ["hunter2-of-the-backend"];
    expect(redact("sent hunter2…kend, …of-the-backend", secrets)).toBe("sent [secret]…[secret], …[secret]");
    expect(redact("sent ...end and …weekend", secrets)).toBe("sent ...end and …weekend");
  });

  it("replaces the beginning of a secret without an ellipsis if it has eight characters", () => {
    const secrets = ["https://hunter2.example.com/backend"];
    expect(redact('"https://hunter2.exa" was cut', secrets)).toBe('"[secret]" was cut');
    expect(redact("https://hunter2.exa...", secrets)).toBe("[secret]...");
    expect(redact("GET https://other.example.com", secrets)).toBe("GET https://other.example.com");
    expect(redact('"https:/" was cut', secrets)).toBe('"https:/" was cut');
  });

  it("replaces the first words of a secret, even if different words follow", () => {
    const secrets = ["correct horse battery staple"];
    expect(redact("correct horse battery is too long", secrets)).toBe("[secret] is too long");
    expect(redact("correct horses are too long", secrets)).toBe("correct horses are too long");
    expect(redact("correct-horse-𝐚𝐜 is too long", ["correct-horse-𝐚𝐛"])).toBe("[secret]-𝐚𝐜 is too long");
  });

  it("replaces a secret that contains another one completely", () => {
    expect(redact("token-long-rest", ["token", "token-long-rest"])).toBe("[secret]");
  });

  it("keeps words that are too short for a secret", () => {
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
