import { inspect } from "node:util";
import { describe, expect, test } from "vitest";
import { HostError, InitializationError } from "../../src/provider/host";
import { instanceNews, KEY, SSH_KEY } from "./samples";
import { changed, existingInstance, failureOf, startService } from "./service";

/** What the host prints for an error of check, diff, read and delete. */
const printed = (error: Error): string => `${error}: ${error.stack}`;

describe("an error as the host prints it", () => {
  test("is its message, without a stack", () => {
    const error = new HostError("reading instance failed\n  hint: look", new Error("inner"));
    expect(printed(error)).toBe("cloudinfra: reading instance failed\n  hint: look");
    expect(error.cause).toBeInstanceOf(Error);
  });

  test("of a read has no stack either", async () => {
    const service = await startService();
    const saved = await existingInstance(service);
    service.emulator.fail({ method: "GET", kind: "status", status: 403, times: 9 });
    const error = await failureOf(service.instances.read(saved.id, saved.state));
    expect(error).toBeInstanceOf(HostError);
    expect(printed(error)).toBe(`cloudinfra: ${error.message}`);
    expect(error.message).not.toMatch(/\n\s+at |\.ts:\d/);
  });

  test("of a partial state has the id, the properties and the reasons", () => {
    const error = new InitializationError("ins-1", { flavor: "m1.small" }, "no", undefined);
    expect(error).toMatchObject({ id: "ins-1", properties: { flavor: "m1.small" }, reasons: ["no"] });
    expect(printed(error)).toBe("cloudinfra: no");
  });
});

describe("the resource of an error", () => {
  test("is identified by its name in the program, or else by its id", async () => {
    const service = await startService();
    const saved = await existingInstance(service);
    service.emulator.fail({ method: "GET", kind: "status", status: 403, times: 9 });
    const { __urn, ...nameless } = saved.state;
    expect(__urn).toBeTypeOf("string");
    expect((await failureOf(service.instances.read(saved.id, saved.state))).message).toMatch(
      /^reading instance "web" /,
    );
    expect((await failureOf(service.instances.read(saved.id, nameless))).message).toContain(
      `reading instance "${saved.id}"`,
    );
  });
});

describe("the settings", () => {
  test.each([
    [{ endpoint: "" }, "the required setting cloudinfra:endpoint (the address of the service) is not set"],
    [{ token: "" }, "cloudinfra:token is not set"],
    [{ endpoint: "ftp://x" }, "the setting cloudinfra:endpoint must be a URL"],
    [{ endpoint: "http://api.example.com" }, "cloudinfra:endpoint must begin with https://"],
    [{ concurrency: "none" }, "cloudinfra:concurrency must be a number greater than zero"],
  ])("%j is an error on the resource, when a call is made", async (config, words) => {
    const service = await startService();
    const { instances } = await service.newProviders(config);
    const news = instanceNews();
    expect((await instances.check({}, news)).failures).toEqual([]);
    expect((await instances.diff("ins-1", news, news)).changes).toBe(false);
    const { message } = await failureOf(instances.create(news));
    expect(message).toMatch(/^creating instance "web" failed: /);
    expect(message).toContain(words);
    expect(message).toContain("pulumi config set");
    expect(service.emulator.requests).toEqual([]);
  });

  test("are named as the source of a wrong token", async () => {
    const service = await startService();
    const { instances } = await service.newProviders({ token: "wrong-token" });
    const { message } = await failureOf(instances.create(instanceNews()));
    expect(message).toContain("rejected the token from the stack setting cloudinfra:token (401)");
    expect(message).toContain("pulumi config set --secret cloudinfra:token");
    expect(message).not.toContain("wrong-token");
  });

  test("are named if the service can't be reached", async () => {
    const service = await startService();
    await service.emulator.stop();
    const { message } = await failureOf(service.instances.create(instanceNews()));
    expect(message).toContain("the service can't be reached");
    expect(message).toContain("cloudinfra:endpoint");
  });
});

describe("the value of a secret argument is in no error", () => {
  const secrets = { flavor: "s3cret-flavor", sshKeys: [SSH_KEY], labels: { team: "s3cret-label" } };
  const names = ["flavor", "sshKeys", "labels"];
  const echo = `no s3cret-flavor for s3cret-label with ${SSH_KEY}, nor ${encodeURIComponent(SSH_KEY)}`;

  test("of a creation that repeats it", async () => {
    const service = await startService();
    service.emulator.refuse("flavor", secrets.flavor, { detail: echo });
    const error = await failureOf(existingInstance(service, { ...secrets, __secrets: names }));
    expect(error.message).toContain("no [secret] for [secret] with [secret], nor [secret]");
    expect(printed(error)).not.toContain("s3cret");
  });

  test("of an update, a read or a delete that repeats it", async () => {
    const service = await startService();
    const saved = await existingInstance(service, { ...secrets, __secrets: names });
    const fault = { kind: "status", status: 403, times: 9, problem: { detail: echo } } as const;
    service.emulator.fail({ ...fault, method: "PUT" });
    service.emulator.fail({ ...fault, method: "DELETE" });
    const errors = [
      await failureOf(
        service.instances.update(saved.id, saved.state, changed(saved, { network: "backend" })),
      ),
      await failureOf(service.instances.delete(saved.id, saved.state)),
    ];
    service.emulator.fail({ ...fault, method: "GET" });
    errors.push(await failureOf(service.instances.read(saved.id, saved.state)));
    for (const error of errors) {
      expect(error.message).toContain("no [secret] for [secret]");
      expect(printed(error)).not.toContain("s3cret");
    }
  });

  test("except if the argument isn't secret", async () => {
    const service = await startService();
    service.emulator.refuse("flavor", secrets.flavor, { detail: echo });
    const { message } = await failureOf(existingInstance(service, secrets));
    expect(message).toContain("no s3cret-flavor");
  });
});

describe("a bug", () => {
  test("is reported with its stack", async () => {
    const service = await startService();
    const { instances } = await service.newProviders({ endpoint: service.emulator.endpoint });
    const labels = {
      get team(): string {
        throw new TypeError("a bug");
      },
    };
    const broken = instanceNews({ __key: KEY, labels });
    const { message } = await failureOf(instances.create(broken));
    expect(message).toMatch(/^creating instance "web" failed: TypeError: a bug\s+at /);
    expect(inspect(message)).not.toContain(service.emulator.token);
  });
});
