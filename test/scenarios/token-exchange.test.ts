import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect, it, onTestFinished } from "vitest";
import type { Emulator, LoggedRequest } from "../../src/emulator";
import { CLIENT, startTokenService, type TokenService } from "../config/token-service";
import { expectOk, noRequestsDuring } from "../harness/assertions";
import { describeLongOnEngines } from "../harness/describe-on-engines";
import type { Engine } from "../harness/engine";
import { type Scenario, withStack } from "../harness/scenario";

const program = `
  const project = new Project("p", { region: "eu-1" });
  new Instance("web", { project: project.id, image: "ubuntu", flavor: "small", network: "n" });
`;

interface WithExchange extends Scenario {
  readonly tokens: TokenService;
  /** Writes a new subject token to the file. */
  writeSubject(): void;
}

/** Runs `body` with a stack that gets its tokens from an exchange. The service accepts only the latest token. */
async function withExchange(
  engine: Engine,
  onPoll: (emulator: Emulator, tokens: TokenService) => void,
  body: (scenario: WithExchange) => Promise<void>,
): Promise<void> {
  let onIssue = (_token: string): void => {};
  const tokens = await startTokenService((token) => onIssue(token));
  const folder = mkdtempSync(path.join(tmpdir(), "subject-"));
  onTestFinished(async () => {
    await tokens.stop();
    rmSync(folder, { recursive: true });
  });
  const file = path.join(folder, "token");
  const config = {
    "cloudinfra:token": undefined,
    "cloudinfra:oidcIssuer": tokens.issuer,
    "cloudinfra:oidcSubject": `file:${file}`,
    "cloudinfra:oidcClientId": CLIENT.id,
    "cloudinfra:oidcClientSecret": { secret: CLIENT.secret },
  };
  let emulator: Emulator | undefined;
  const onRequest = ({ path: asked }: LoggedRequest): void => {
    if (emulator !== undefined && asked.startsWith("/v1/operations/")) onPoll(emulator, tokens);
  };
  await withStack(engine, { program, config, onRequest }, async (scenario) => {
    emulator = scenario.emulator;
    onIssue = (token) => {
      scenario.leaks.alsoToken(token);
      scenario.emulator.changeToken(token);
    };
    const writeSubject = (): void => {
      const subject = scenario.leaks.alsoToken();
      tokens.subjects.clear();
      tokens.subjects.add(subject);
      writeFileSync(file, subject);
    };
    await body({ ...scenario, tokens, writeSubject });
  });
}

const HELD_MS = 3_600_000;

describeLongOnEngines("a token from an exchange", (engine) => {
  it("is exchanged again with the current content of the file if the service rejects it during a wait", async () => {
    let renewSubject = (): void => {};
    let isRefused = false;
    const onPoll = (emulator: Emulator, { issued }: TokenService): void => {
      if (issued.length > 1) return void emulator.finishOperations();
      if (isRefused) return; // This poll was rejected. Another change would revoke the new token.
      isRefused = true;
      emulator.changeToken("none of these");
      renewSubject();
    };
    await withExchange(engine, onPoll, async ({ stack, emulator, tokens, writeSubject }) => {
      emulator.behaviour.operationMs = HELD_MS;
      writeSubject();
      renewSubject = writeSubject;
      expectOk(await noRequestsDuring(emulator, () => stack.run("preview")));
      expect(tokens.exchanges).toEqual([]);
      expectOk(await stack.run("up"));
      expect(emulator.instances.size).toBe(1);
      expect(tokens.issued).toHaveLength(2);
      const subjects = tokens.exchanges.map(({ parameters }) => parameters.subject_token);
      expect(new Set(subjects).size).toBe(2);
      emulator.behaviour.operationMs = 0;
      expectOk(await stack.run("destroy"));
      expect(emulator.projects.size).toBe(0);
    });
  });

  it("is renewed before it expires, so that no request is rejected", async () => {
    const onPoll = (emulator: Emulator, { issued }: TokenService): void => {
      if (issued.length > 2) emulator.finishOperations();
    };
    await withExchange(engine, onPoll, async ({ stack, emulator, tokens, writeSubject }) => {
      emulator.behaviour.operationMs = HELD_MS;
      tokens.lifetimeS = 2;
      writeSubject();
      expectOk(await stack.run("up"));
      expect(tokens.issued.length).toBeGreaterThan(2);
      const refused = emulator.requests.filter(({ status }) => status === 401);
      expect(refused).toEqual([]);
    });
  });
});
