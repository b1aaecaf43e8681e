import * as pulumi from "@pulumi/pulumi";
import { expect, test } from "vitest";
import { getProjects, getProjectsOutput, Provider, type ProviderArgs } from "../../src";
import { settings } from "../../src/config/settings";
import { one, registered } from "./registered";

const ALL: Required<ProviderArgs> = {
  ...{ endpoint: "https://eu.example.com", formerEndpoints: ["https://a", pulumi.output("https://b")] },
  ...{ token: "t", tokenFile: "f", tokenCommand: "c" },
  ...{ oidcTokenEndpoint: "e", oidcIssuer: "i", oidcSubject: "github", oidcSubjectAudience: "a" },
  ...{
    oidcSubjectTokenType: "t",
    oidcAudience: "a",
    oidcScope: "s",
    oidcClientId: "c",
    oidcClientSecret: "s",
  },
  ...{ operationTimeout: "7m", allowHttp: true, caFile: "ca.pem", concurrency: 3, maxRequestsPerSecond: 0.5 },
  ...{ revisionField: "version", ipAddressField: "ip" },
};

test("an explicit provider has every setting except journalDir as an argument, and passes it to its process as a string", async () => {
  const names = Object.keys(settings).filter((name) => name !== "journalDir");
  expect(Object.keys(ALL).sort()).toEqual(names.sort());
  const { type, inputs } = await one(() => new Provider("eu", ALL));
  expect(type).toBe("pulumi:providers:pulumi-nodejs");
  expect(Object.keys(inputs).sort()).toEqual(
    [...names, "providerName"].map((name) => `cloudinfra:${name}`).sort(),
  );
  expect(inputs).toMatchObject({
    "cloudinfra:providerName": "eu",
    "cloudinfra:formerEndpoints": '["https://a","https://b"]',
    "cloudinfra:allowHttp": "true",
    "cloudinfra:maxRequestsPerSecond": "0.5",
  });
});

test("the token and the client secret are secret, even if the program passes plain strings", async () => {
  const inputs: Record<string, unknown> = {};
  await registered(() => new Provider("eu", ALL), {
    onRequest: (request) => Object.assign(inputs, Object(request).getObject().toJavaScript()),
  });
  const secrets = Object.keys(inputs).filter((name) => typeof inputs[name] === "object");
  expect(secrets.sort()).toEqual(["cloudinfra:oidcClientSecret", "cloudinfra:token"]);
});

test("omitted and undefined arguments are not inputs, but the stack's journal folder is", async () => {
  pulumi.runtime.setAllConfig({ "cloudinfra:journalDir": "ours", "cloudinfra:token": "t-stack" });
  const { inputs } = await one(
    () => new Provider("eu", { concurrency: undefined, caFile: pulumi.output(undefined) }),
  );
  expect(inputs).toEqual({ "cloudinfra:providerName": "eu", "cloudinfra:journalDir": "ours" });
  pulumi.runtime.setAllConfig({});
});

test.each<[string, ProviderArgs, Record<string, string>]>([
  ["endpoint", { endpoint: undefined, token: "t" }, { "cloudinfra:endpoint": "" }],
  ["tokenFile", { endpoint: "https://eu.example.com", tokenFile: undefined }, { "cloudinfra:tokenFile": "" }],
])(
  "an undefined %s is empty for its process, so that the environment can't select another account",
  async (_name, args, expected) => {
    const { inputs } = await one(() => new Provider("eu", args));
    expect(inputs).toMatchObject(expected);
  },
);

test("an output that resolves to undefined is empty for its process, too", async () => {
  const args: ProviderArgs = { endpoint: pulumi.output(undefined), tokenCommand: pulumi.output(undefined) };
  const { inputs } = await one(() => new Provider("eu", args));
  expect(inputs).toMatchObject({ "cloudinfra:endpoint": "", "cloudinfra:tokenCommand": "" });
});

test("a token source may be undefined if there is another one", async () => {
  const { inputs } = await one(() => new Provider("eu", { token: undefined, tokenFile: "token" }));
  expect(inputs).toEqual({ "cloudinfra:providerName": "eu", "cloudinfra:tokenFile": "token" });
});

test("an unknown option of a function is an error, because a misplaced filter would have no effect", async () => {
  const options: object = { name: "shop" };
  await expect(getProjects(options)).rejects.toThrow(
    'unknown option "name": the options are provider, parent, dependsOn',
  );
  expect(() => getProjectsOutput(options)).toThrow('unknown option "name"');
});

test("a misspelled argument is rejected, because the environment's service would get the token instead", () => {
  const args: object = { endPoint: "https://eu.example.com", token: "t" };
  expect(() => new Provider("eu", args)).toThrow('unknown argument "endPoint" of provider "eu"');
});
