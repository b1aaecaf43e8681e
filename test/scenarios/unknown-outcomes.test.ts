import { createServer } from "node:net";
import path from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { expectConverged, expectOk } from "../harness/assertions";
import { describeOnEngines } from "../harness/describe-on-engines";
import { withStack } from "../harness/scenario";
import { stateOf, statesOf } from "../harness/state";
import { errorsOf, urnOf } from "./interruption";
import { forget } from "./killed";
import { withRelay } from "./relay";

const program = `
  const soon = { customTimeouts: { create: "3s" } };
  const project = new Project("p", { region: "eu-1" }, soon);
  new Instance("web", { project: project.id, image: "ubuntu", flavor: "small", network: "n" }, soon);
`;
const MALFORMED = 'HTTP/1.1 200 OK\r\nx-note: a\u0001b\r\n\r\n{"password":"initial-password-5e1f"}';

describeOnEngines("a request whose outcome is unknown", (engine) => {
  it("is retried with the same key by the next up on another machine if its replies were malformed", async () => {
    await withStack(engine, { program }, async ({ stack, emulator, dir }) => {
      let isSpoiling = true;
      let polls = 0;
      const spoil = ({ method, path }: { method: string; path: string }) => {
        if (path.startsWith("/v1/operations/")) return polls++ < 2 ? MALFORMED : undefined;
        return isSpoiling && method === "POST" && path === "/v1/instances" ? MALFORMED : undefined;
      };
      await withRelay(emulator.endpoint, spoil, async (url) => {
        await stack.setConfig("cloudinfra:endpoint", url);
        const failed = await stack.run("up");
        expect(errorsOf(failed)).toContain("Response does not match the HTTP/1.1 protocol");
        expect(failed.output).not.toContain("initial-password");
        expect(failed.output).not.toContain("    at ");
        expect(stateOf(await stack.deployment(), "web").id).toMatch(/^operation\/key-/);
        isSpoiling = false;
        expectOk(await stack.run("up", { env: { CLOUDINFRA_JOURNAL_DIR: path.join(dir, "other-machine") } }));
        expect([...emulator.instances.keys()]).toEqual([stateOf(await stack.deployment(), "web").id]);
        await expectConverged({ stack, emulator });
      });
    });
  });
});

describeOnEngines("a request that was never sent", (engine) => {
  it("leaves nothing in the state if the TLS handshake fails", async () => {
    await withStack(engine, { program }, async ({ stack, emulator }) => {
      const firewall = createServer((socket) => socket.on("error", () => {}).resetAndDestroy());
      await new Promise<void>((resolve) => firewall.listen(0, "127.0.0.1", resolve));
      onTestFinished(() => void firewall.close());
      const address = firewall.address();
      const port = typeof address === "string" ? undefined : address?.port;
      await stack.setConfig("cloudinfra:endpoint", `https://localhost:${port}`);
      expect(errorsOf(await stack.run("up"))).toContain("the service can't be reached");
      expect(statesOf(await stack.deployment(), "p")).toEqual([]);
      await stack.setConfig("cloudinfra:endpoint", emulator.endpoint);
      expectOk(await stack.run("up"));
      await expectConverged({ stack, emulator });
    });
  });
});

describeOnEngines("a link to another host", (engine) => {
  it("is followed at the endpoint", async () => {
    await withStack(engine, { program }, async ({ stack, emulator }) => {
      emulator.behaviour.linkOrigin = "https://internal.example.test";
      expectOk(await stack.run("up"));
      expect([...emulator.instances.keys()]).toEqual([stateOf(await stack.deployment(), "web").id]);
      await expectConverged({ stack, emulator });
    });
  });
});

describeOnEngines("a rejected creation whose first request may have arrived", (engine) => {
  const instance = (image: string): string => `
    const project = new Project("p", { region: "eu-1" });
    new Instance("web", { project: project.id, image: "${image}", flavor: "small", network: "n" });
  `;

  it.each([
    ["of a new resource", ""],
    ["of a replacement", "debian"],
  ])(
    "is abandoned by one `recover --forget` after several failed ups, if it is that %s",
    async (_, image) => {
      await withStack(engine, { program: image === "" ? "" : instance(image) }, async (scenario) => {
        const { stack, emulator, write } = scenario;
        expectOk(await stack.run("up"));
        emulator.refuse("image", "unknown-image");
        emulator.fail({ kind: "status", status: 503, method: "POST", path: "/v1/instances" });
        for (const wanted of ["unknown-image", "unknown-image", "ubuntu"]) {
          write(instance(wanted));
          expect(errorsOf(await stack.run("up"))).toContain(
            wanted === "ubuntu" ? "recover --forget" : "unknown-image",
          );
        }
        await forget(scenario, urnOf("web"));
        expectOk(await stack.run("up"));
        await expectConverged({ stack, emulator });
        const [id, ...others] = emulator.instances.keys();
        expect(others).toEqual([]);
        expect(statesOf(await stack.deployment(), "web").map((one) => one.id)).toEqual([id]);
        expect(emulator.instances.get(String(id))?.fields.image).toBe("ubuntu");
      });
    },
  );
});
