import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { describe, expect, onTestFinished, test } from "vitest";
import type { Emulator } from "../../src/emulator";
import { existingInstance, type Service, startService } from "./service";

/** Starts a service that accepts the name of its project in place of the id, and shows the id. */
async function startWithNames(): Promise<Service> {
  const { emulator, ...service } = await startService();
  const project = emulator.addProject({ name: "shop" });
  const endpoint = await startGateway(emulator, (request) =>
    request.replace(/(project=|projects\/|"project":")shop\b/, `$1${project.id}`),
  );
  const newProviders: Service["newProviders"] = (more) => service.newProviders({ endpoint, ...more });
  return { emulator, ...service, newProviders };
}

async function startGateway({ endpoint }: Emulator, rewrite: (request: string) => string): Promise<string> {
  const server = createServer(async (request, response) => {
    const { method = "", url = "", headers } = request;
    const body = rewrite(await text(request));
    const kept = ["authorization", "idempotency-key", "if-match"].flatMap((name) => {
      const value = headers[name];
      return typeof value === "string" ? [[name, value]] : [];
    });
    const reply = await fetch(new URL(rewrite(url), endpoint), {
      method,
      headers: { ...Object.fromEntries(kept), "content-type": "application/json" },
      ...(body !== "" && { body }),
    });
    response.writeHead(reply.status, Object.fromEntries(reply.headers)).end(await reply.text());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
}

test("a deletion is confirmed if the program names the project and the service shows its id", async () => {
  const service = await startWithNames();
  const { id, state } = await existingInstance(service, { project: "shop" });
  expect(state.project).toBe("shop");
  const { instances } = await service.newProviders();
  await instances.delete(id, state);
  expect(service.emulator.instances.size).toBe(0);
});

test("a refresh removes a deleted instance if the program names the project and the service shows its id", async () => {
  const service = await startWithNames();
  const { id, state } = await existingInstance(service, { project: "shop" });
  service.emulator.remove(id);
  const { instances } = await service.newProviders();
  expect(await instances.read(id, state)).toEqual({});
});

const forms = {
  link: (project: unknown) => `/v1/projects/${project}`,
  "id in upper case": (project: unknown) => String(project).toUpperCase(),
};

describe.each(Object.entries(forms))(
  "a service that shows a %s in place of the project's id",
  (_name, form) => {
    const spelling = (now: Readonly<Record<string, unknown>>): object => ({
      ...now,
      project: form(now.project),
    });

    test.each([200, 404, 405] as const)(
      "confirms a deletion, and a refresh after one: GET %d",
      async (getObject) => {
        const service = await startService({ behaviour: { spelling, getObject } });
        const [one, other] = [await existingInstance(service), await existingInstance(service)];
        service.emulator.remove(other.id);
        const { instances } = await service.newProviders();
        await instances.delete(one.id, one.state);
        expect(service.emulator.instances.size).toBe(0);
        expect(await instances.read(other.id, other.state)).toEqual({});
      },
    );
  },
);
