import { execFile } from "node:child_process";
import { writeFileSync } from "node:fs";
import path from "node:path";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { changesOf, expectOk } from "../harness/assertions";
import { engines } from "../harness/engines";
import { linkPackages } from "../harness/modules";
import { installed } from "./installed";

// The previews of the other examples are in lives.test.ts.
describe("a preview of an example needs no settings and no service", async () => {
  for (const engine of await engines()) {
    it(`quickstart, on ${engine.name}`, async () => {
      const dir = installed("quickstart");
      const stack = await engine.open({ dir, project: "quickstart", stack: "dev" });
      try {
        expect(changesOf(expectOk(await stack.run("preview")))).toEqual({ create: 5 });
      } finally {
        await stack.dispose();
      }
    });
  }

  it("beside-other-clouds, without the engine, because Cloudflare's plugin isn't available", async () => {
    const dir = installed("beside-other-clouds");
    linkPackages(dir, ["tsx"]);
    const script = `
      const pulumi = require("@pulumi/pulumi");
      require("tsx/cjs");
      const seen = [];
      const newResource = ({ name, type, id, inputs }) => (seen.push(type), { id: id || undefined, state: inputs });
      pulumi.runtime.setAllConfig({ "beside-other-clouds:zoneId": "0123456789abcdef0123456789abcdef" });
      pulumi.runtime.setMocks({ newResource, call: () => { throw new Error("a preview sends no requests"); } }, "beside-other-clouds", "dev", true)
        .then(() => require("./index.ts"))
        .then(() => pulumi.runtime.disconnect())
        .then(() => console.log(seen.join(" ")));
    `;
    writeFileSync(path.join(dir, "preview.cjs"), script);
    const { stdout } = await promisify(execFile)(process.execPath, ["preview.cjs"], { cwd: dir });
    expect(stdout).toMatch(/cloudinfra:Project .*cloudinfra:Instance .*cloudflare:/);
  });
});
