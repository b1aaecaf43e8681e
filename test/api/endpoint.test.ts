import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseEndpoint, pathOf } from "../../src/api/endpoint";
import { clientOf } from "./service";

describe("the endpoint", () => {
  it.each([
    ["https://api.example.com", "https://api.example.com/v1"],
    ["https://api.example.com/", "https://api.example.com/v1"],
    ["https://api.example.com/v1", "https://api.example.com/v1"],
    ["  https://API.example.com/v1//  ", "https://api.example.com/v1"],
    ["https://example.com:8443/cloud", "https://example.com:8443/cloud/v1"],
    ["https://example.com/cloud/v1/", "https://example.com/cloud/v1"],
    ["http://localhost:8080", "http://localhost:8080/v1"],
    ["http://127.1.2.3", "http://127.1.2.3/v1"],
    ["http://[::1]:9", "http://[::1]:9/v1"],
  ])("%s is normalized to %s", (text, base) => {
    expect(parseEndpoint(text).base).toBe(base);
  });

  it.each([
    ["", "must be a URL that begins with https://"],
    ["api.example.com", "must be a URL"],
    ["localhost:8080", "must be a URL"],
    ["ftp://example.com", "must be a URL"],
    ["https://user:pa55word@example.com", "user name or password"],
    ["https://example.com?key=pa55word", 'must not contain "?" or "#"'],
    ["https://example.com#x", 'must not contain "?" or "#"'],
    ["http://example.com", "must begin with https://"],
    ["http://localhost.example.com", "must begin with https://"],
    ["https://example.com/v2", 'version "v2"'],
  ])("%j is rejected with a message that names the setting and shows no password", (text, words) => {
    expect(() => parseEndpoint(text)).toThrow(
      expect.objectContaining({ code: "config_invalid", message: expect.stringContaining(words) }),
    );
    expect(() => parseEndpoint(text)).toThrow("cloudinfra:endpoint");
    expect(() => parseEndpoint(text)).not.toThrow("pa55word");
  });

  it("has a hint with the variable only for the case that it is set there, because the stack takes precedence", () => {
    const hint = expect.stringMatching(
      /^Run `pulumi config set cloudinfra:endpoint .*`, or correct the environment variable CLOUDINFRA_ENDPOINT$/,
    );
    expect(() => parseEndpoint("localhost")).toThrow(expect.objectContaining({ hint }));
  });

  it("may be http to another host with allowHttp", () => {
    expect(parseEndpoint("http://example.com", { allowHttp: true }).base).toBe("http://example.com/v1");
  });

  it("stays the same if it is already normalized", () => {
    fc.assert(
      fc.property(fc.webUrl({ validSchemes: ["https"] }), (url) => {
        fc.pre(!/\/v\d+\/?$/.test(url)); // another version of the API
        const { base } = parseEndpoint(url);
        expect(parseEndpoint(base).base).toBe(base);
      }),
    );
  });
});

describe("ids in paths", () => {
  it("stay one segment with any characters", () => {
    fc.assert(
      fc.property(fc.string({ minLength: 1, unit: "binary" }), (id) => {
        fc.pre(id !== "." && id !== "..");
        const url = new URL(`https://example.com/v1${pathOf("instances", id)}`);
        expect(url.pathname.split("/")).toHaveLength(4);
        expect(decodeURIComponent(url.pathname.split("/")[3] ?? "")).toBe(id.toWellFormed());
        expect(url.search + url.hash).toBe("");
      }),
    );
  });

  it.each(["", ".", ".."])("are rejected: %j", (id) => {
    expect(() => pathOf("instances", id)).toThrow("isn't a valid id");
  });
});

it.each([
  [{ concurrency: 0 }, "cloudinfra:concurrency"],
  [{ concurrency: 1.5 }, "cloudinfra:concurrency"],
])("a client with %j is rejected with an error that names the setting", (options, setting) => {
  expect(() => clientOf("https://example.com", options)).toThrow(setting);
});
