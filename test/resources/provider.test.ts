import * as pulumi from "@pulumi/pulumi";
import { expect, test } from "vitest";
import { getProjects, getProjectsOutput, Provider, type ProviderArgs } from "../../src";
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

test("passes each argument of an explicit provider to its process as a string", async () => {
  const settings = Object.keys(ALL);
  const { type, inputs } = await one(() => new Provider("eu", ALL));
  expect(type).toBe("pulumi:providers:pulumi-nodejs");
  expect(Object.keys(inputs).sort()).toEqual(
    [...settings, "providerName"].map((name) => `cloudinfra:${name}`).sort(),
  );
  expect(inputs).toMatchObject({
    "cloudinfra:providerName": "eu",
    "cloudinfra:formerEndpoints": '["https://a","https://b"]',
    "cloudinfra:allowHttp": "true",
    "cloudinfra:maxRequestsPerSecond": "0.5",
  });
});

test("its token and client secret are secret, also if the program gives them as plain text", async () => {
  const inputs: Record<string, unknown> = {};
  await registered(() => new Provider("eu", ALL), {
    onRequest: (request) => Object.assign(inputs, Object(request).getObject().toJavaScript()),
  });
  const secrets = Object.keys(inputs).filter((name) => typeof inputs[name] === "object");
  expect(secrets.sort()).toEqual(["cloudinfra:oidcClientSecret", "cloudinfra:token"]);
});

test("arguments that are left out or undefined aren't inputs; the stack's journal folder is", async () => {
  pulumi.runtime.setAllConfig({ "cloudinfra:journalDir": "ours", "cloudinfra:token": "t-stack" });
  const { inputs } = await one(
    () => new Provider("eu", { endpoint: undefined, caFile: pulumi.output(undefined) }),
  );
  expect(inputs).toEqual({ "cloudinfra:providerName": "eu", "cloudinfra:journalDir": "ours" });
  pulumi.runtime.setAllConfig({});
});

test("an option that a function doesn't have is an error: as a filter, it would narrow the result", async () => {
  const options: object = { name: "shop" };
  await expect(getProjects(options)).rejects.toThrow(
    'unknown option "name": the options are provider, parent, dependsOn',
  );
  expect(() => getProjectsOutput(options)).toThrow('unknown option "name"');
});
