import { expect, test } from "vitest";
import { instanceFields } from "../../src/model/resource-fields";
import { instanceNews } from "../provider/samples";
import { diff } from "../provider/typed";

test.each([
  'no-pty,command="true"',
  'command="exec nc ssh-gw 22 -w 60",restrict',
  'command="echo \\"ssh-rsa AAAA \\" ssh-rsa AAAA "',
])("an SSH key behind options is compared too: %s", (options) => {
  const [one, other] = ["AAAAB3", "AAAAB4"].map((key) =>
    instanceNews({ sshKeys: [`${options} ssh-rsa ${key} bob`] }),
  );
  expect(diff(instanceFields, one ?? {}, other ?? {}).changes).toBeUndefined();
});
