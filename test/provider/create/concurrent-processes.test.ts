import { describe, expect, test } from "vitest";
import { openJournal } from "../../../src/journal/journal";
import { nextKey } from "../../../src/model/idempotency-key";
import type { Properties } from "../../../src/model/state";
import type { HostProvider } from "../../../src/provider/host";
import { type OneInstance, oneInstance, URN } from "../one-instance";
import { failureOf, type Service } from "../service";

const LONG = { __timeouts: { create: "1000h" } };

/** A creation that was killed and whose operation will fail, and two providers: one that outlived its CLI, and the next `up`'s. */
async function twoProviders() {
  const { service, web } = await oneInstance({ behaviour: { operationMs: Number.MAX_SAFE_INTEGER } });
  service.emulator.failNextOperation({ kind: "create" });
  await web.killedUp(LONG);
  return { service, web, one: await web.process(), other: await web.process() };
}

async function checked(provider: HostProvider, news: Properties): Promise<Properties> {
  return (await provider.check({}, news)).inputs;
}

/** Creates. While that waits for the operation, another process puts an entry of its own there; then the operation ends. */
async function overtaken({ service, web, key }: Overtaken): Promise<Promise<unknown>> {
  const { emulator } = service;
  const { body } = await web.journalEntry();
  const inputs = await checked(service.instances, web.news(LONG));
  const polls = (): number => emulator.requests.filter(({ path }) => path.includes("/operations/")).length;
  const seen = polls();
  const created = service.instances.create(inputs);
  created.catch(() => undefined); // who asked for it hears of it
  while (polls() === seen) await new Promise((resolve) => setImmediate(resolve));
  const journal = openJournal({ endpoint: emulator.endpoint, dir: service.journalDir, warn: expect.fail });
  await journal.remove((await web.journalEntry()).key);
  await journal.begin({
    urn: URN,
    key,
    resource: key,
    body: body.replace("m1.small", "m1.large"),
    at: Date.now(),
  });
  emulator.finishOperations();
  emulator.behaviour.operationMs = 100;
  return created;
}

/** Sends a creation, as another provider does. @returns the address of its operation */
async function sent({ emulator }: Service, { key, body }: { key: string; body: string }): Promise<string> {
  const { headers } = await fetch(`${emulator.endpoint}/instances`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${emulator.token}`,
      "content-type": "application/json",
      "idempotency-key": key,
    },
    body,
  });
  return headers.get("location") ?? "";
}

interface Overtaken {
  readonly service: Service;
  readonly web: OneInstance;
  readonly key: string;
}

describe("two providers at once", () => {
  test("that resume the same failed creation derive the same next key and create one instance", async () => {
    const { service, web, one, other } = await twoProviders();
    const both = [one, other];
    const inputs = await Promise.all(both.map((provider) => checked(provider, web.news(LONG))));
    service.emulator.finishOperations();
    service.emulator.behaviour.operationMs = 100;
    const made = await Promise.all(both.map((provider, i) => provider.create(inputs[i] ?? {})));
    const [id] = service.emulator.instances.keys();
    expect(made.map((answer) => answer.id)).toEqual([id, id]);
    expect(service.emulator.instances.size).toBe(1);
    expect(web.keys()).toBe(2);
  });

  test("continue from the next key if one of them has used it since the other's check", async () => {
    const { service, web, one } = await twoProviders();
    const { emulator } = service;
    const inputs = await checked(one, web.news(LONG));
    const first = await web.journalEntry();
    const second = { ...first, key: nextKey(first.key) };
    emulator.failNextOperation({ kind: "create" });
    const url = await sent(service, second);
    await web.writeEntry({ ...second, operation: { id: url.split("/").at(-1) ?? "", url } });
    emulator.finishOperations();
    emulator.behaviour.operationMs = 100;
    const { id } = await one.create(inputs);
    expect([...emulator.instances.keys()]).toEqual([id]);
    expect(web.keys()).toBe(3);
  });

  test("that send different requests with the same next key keep the record of each other's request", async () => {
    const { service, web } = await twoProviders();
    const first = await web.journalEntry();
    service.emulator.finishOperations();
    await sent(service, { key: nextKey(first.key), body: first.body.replace("m1.small", "m1.large") });
    expect(await web.up(LONG)).toMatch(/\(422\).*The request may have succeeded/s);
    expect(web.inState().id).toBe(`operation/key-${nextKey(first.key)}`);
    expect(await web.journalEntry()).toMatchObject({ key: nextKey(first.key) });
    expect(await web.up(LONG)).toMatch(/\(422\)/);
    expect(service.emulator.instances.size).toBe(1);
  });
});

describe("a provider that another one has overtaken on the same resource", () => {
  const key = crypto.randomUUID();

  test("reports an error, and the next `up` resumes the other's creation", async () => {
    const { service, web } = await twoProviders();
    const failure = await failureOf(overtaken({ service, web, key }));
    expect(failure.message).toContain("another process is creating the resource");
    expect(failure.message).toContain("Run `pulumi up` again");
    expect(service.emulator.instances.size).toBe(0);
    expect(await web.journalEntry()).toMatchObject({ key });
    expect(await web.up()).toBeUndefined();
    const id = await web.expectOne();
    expect(service.emulator.instances.get(id)?.fields.flavor).toBe("m1.small");
    expect(web.keys()).toBe(2);
  });
});
