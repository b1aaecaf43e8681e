import { describe, expect, test } from "vitest";
import { instanceFields, projectFields } from "../../../src/model/fields";
import { creationBody } from "../../../src/model/request-body";
import { instanceNews, projectNews, SSH_KEY } from "../samples";

/**
 * A repeated POST must have the very body of the first one, also when it is repeated by a later version on another
 * machine: these texts are for ever.
 */
describe("the body of a creation request, for ever", () => {
  test("a project", () => {
    expect(creationBody(projectFields, projectNews())).toBe('{"name":"shop","region":"eu-1"}');
  });

  test("an instance with what is required", () => {
    expect(creationBody(instanceFields, instanceNews())).toBe(
      '{"project":"prj-1","name":"web","image":"debian-13","flavor":"m1.small","network":"default"}',
    );
  });

  test("an instance with everything", () => {
    const labels = { zone: "a", team: "web", Tier: "front", "10": "x", "9": "y" };
    const news = instanceNews({ publicIp: "auto", sshKeys: [SSH_KEY, "ssh-rsa AAAAB3 bob"], labels });
    expect(creationBody(instanceFields, news)).toBe(
      '{"project":"prj-1","name":"web","image":"debian-13","flavor":"m1.small","network":"default",' +
        '"public_ip":"auto","ssh_keys":["ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ0vy ada@example.org",' +
        '"ssh-rsa AAAAB3 bob"],"labels":{"9":"y","10":"x","Tier":"front","team":"web","zone":"a"}}',
    );
  });
});

test("the order in which inputs and labels come makes no difference to it", () => {
  const news = instanceNews({ publicIp: "auto", labels: { b: "2", a: "1" } });
  const other = Object.fromEntries(Object.entries({ ...news, labels: { a: "1", b: "2" } }).reverse());
  expect(creationBody(instanceFields, other)).toBe(creationBody(instanceFields, news));
});

test("labels go on the wire only where they are set", () => {
  expect(creationBody(instanceFields, instanceNews())).not.toContain("labels");
  expect(creationBody(instanceFields, instanceNews({ labels: {} }))).toContain('"labels":{}');
});

test("nothing hidden and no output is in it", () => {
  const news = instanceNews({ status: "running", revision: "r1", __later: "x" });
  expect(creationBody(instanceFields, news)).toBe(creationBody(instanceFields, instanceNews()));
});
