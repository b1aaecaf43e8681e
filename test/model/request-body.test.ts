import { describe, expect, test } from "vitest";
import { creationBody } from "../../src/model/request-body";
import { instanceFields, projectFields } from "../../src/model/resource-fields";
import { instanceNews, projectNews, SSH_KEY } from "../provider/samples";

/**
 * A repeated POST must have the very body of the first one, also when it is repeated by a later version on another
 * machine: these texts are for ever.
 */
describe("the body of a creation request never changes:", () => {
  test("a project", () => {
    expect(creationBody(projectFields, projectNews())).toBe('{"name":"shop","region":"eu-1"}');
  });

  test("an instance with the required properties", () => {
    expect(creationBody(instanceFields, instanceNews())).toBe(
      '{"project":"prj-1","name":"web","image":"debian-13","flavor":"m1.small","network":"default"}',
    );
  });

  test("an instance with all properties", () => {
    const labels = { zone: "a", team: "web", Tier: "front", "10": "x", "9": "y" };
    const news = instanceNews({ publicIp: "auto", sshKeys: [SSH_KEY, "ssh-rsa AAAAB3 bob"], labels });
    expect(creationBody(instanceFields, news)).toBe(
      '{"project":"prj-1","name":"web","image":"debian-13","flavor":"m1.small","network":"default",' +
        '"public_ip":"auto","ssh_keys":["ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ0vy ada@example.org",' +
        '"ssh-rsa AAAAB3 bob"],"labels":{"9":"y","10":"x","Tier":"front","team":"web","zone":"a"}}',
    );
  });
});

test("the body doesn't depend on the order of inputs and labels", () => {
  const news = instanceNews({ publicIp: "auto", labels: { b: "2", a: "1" } });
  const other = Object.fromEntries(Object.entries({ ...news, labels: { a: "1", b: "2" } }).reverse());
  expect(creationBody(instanceFields, other)).toBe(creationBody(instanceFields, news));
});

test("the body has labels only if they are set", () => {
  expect(creationBody(instanceFields, instanceNews())).not.toContain("labels");
  expect(creationBody(instanceFields, instanceNews({ labels: {} }))).toContain('"labels":{}');
});

test("the body has no hidden inputs and no outputs", () => {
  const news = instanceNews({ status: "running", revision: "r1", __later: "x" });
  expect(creationBody(instanceFields, news)).toBe(creationBody(instanceFields, instanceNews()));
});
