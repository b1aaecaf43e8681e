import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseEndpoint, readLink } from "../../src/api/endpoint";
import { urlOf } from "../../src/api/request";

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
