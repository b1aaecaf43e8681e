import { expect, test } from "vitest";
import { diff } from "../../../src/provider/diff";
import { instanceFields } from "../../../src/provider/values/fields";
import { instanceNews } from "../samples";

test("an SSH key behind options is compared too", () => {
  const [one, other] = ["AAAAB3", "AAAAB4"].map((key) =>
    instanceNews({ sshKeys: [`no-pty,command="true" ssh-rsa ${key} bob`] }),
  );
  expect(diff(instanceFields, one ?? {}, other ?? {}).changes).toBeUndefined();
});
