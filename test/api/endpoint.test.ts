import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { comparableEndpoint, parseEndpoint, pathOf, readLink } from "../../src/api/endpoint";
import { urlOf } from "../../src/api/request";
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

  it("has a path whose case may distinguish two accounts", () => {
    const endpoint = comparableEndpoint("https://api.example.com/Acme/v1");
    expect(comparableEndpoint("https://API.example.com/Acme/")).toBe(endpoint);
    expect(comparableEndpoint("https://api.example.com/acme")).not.toBe(endpoint);
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

const endpoint = parseEndpoint("https://api.example.com/cloud/v1");
const from = "https://api.example.com/cloud/v1/instances";
const own = "https://api.example.com/cloud/v1/operations/op-1";

describe("a link to an operation", () => {
  it.each([
    ["absolute", own, own],
    ["rooted", "/cloud/v1/operations/op-1", own],
    ["relative", "operations/op-1", own],
    ["relative to the request", "../v1/operations/op-1", own],
    ["without the base path", "/v1/operations/op-1", own],
    ["without the version", "/operations/op-1", own],
    ["with a slash at the end", "/v1/operations/op-1/", own],
    ["with a query", `${own}?region=eu`, `${own}?region=eu`],
    ["of another host", "https://internal.example.net/v1/operations/op-1", own],
    ["of another scheme", "http://api.example.com/cloud/v1/operations/op-1", own],
    ["of another port", "https://api.example.com:8443/cloud/v1/operations/op-1", own],
    ["with a password", "https://u:p@api.example.com/cloud/v1/operations/op-1", own],
  ])("that is %s is resolved to the endpoint", (_what, link, url) => {
    expect(readLink(link, from, endpoint)).toEqual({ url, collection: "operations", id: "op-1" });
  });

  it("has a decoded id", () => {
    expect(readLink("/v1/operations/op%2F1%20x", from, endpoint)).toEqual({
      url: "https://api.example.com/cloud/v1/operations/op%2F1%20x",
      collection: "operations",
      id: "op/1 x",
    });
    expect(readLink("/v1/operations/100%", from, endpoint).id).toBe("100%");
  });

  it.each([
    "",
    "https://",
    "mailto:op-1",
    "javascript:alert(1)",
    "https://evil.example/steal",
    "//evil.example/op-1",
  ])("isn't followed if it isn't part of the API: %j", (link) => {
    expect(readLink(link, from, endpoint).url).toBeUndefined();
  });

  it("to another host is resolved to the endpoint if its path is below the base path, even outside the known collections", () => {
    expect(readLink("https://internal.example.net/cloud/v1/jobs/7?wait=1", from, endpoint).url).toBe(
      "https://api.example.com/cloud/v1/jobs/7?wait=1",
    );
  });

  it("to another origin is rejected before a request is sent", () => {
    const request = { method: "GET", path: "https://evil.example/v1/operations/op-1" } as const;
    expect(() => urlOf(request, endpoint)).toThrow(expect.objectContaining({ code: "bad_reply" }));
    expect(urlOf({ method: "GET", path: own }, endpoint).href).toBe(own);
  });

  it("always resolves to the endpoint", () => {
    const links = fc.oneof(
      fc.string(),
      fc.webUrl(),
      fc.webPath(),
      fc.string().map((id) => `//evil.example/v1/operations/${id}`),
    );
    fc.assert(
      fc.property(links, (link) => {
        const { url } = readLink(link, from, endpoint);
        if (url !== undefined) expect(new URL(url).origin).toBe(endpoint.origin);
      }),
      { numRuns: 1_000 },
    );
  });
});
