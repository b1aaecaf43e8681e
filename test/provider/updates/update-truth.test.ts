import { expect, test } from "vitest";
import { changed, failureOf, madeInstance, startService } from "../service";

test("an update that was not made is saved with the text that loads the provider: delete and refresh need it", async () => {
  const service = await startService();
  const saved = await madeInstance(service);
  service.emulator.ignoreUpdatesOf("flavor");
  const error = await failureOf(
    service.instances.update(saved.id, saved.state, changed(saved, { flavor: "m1.large" })),
  );
  expect(error).toHaveProperty("properties.__provider", saved.inputs.__provider);
});

test("null from the service is no value: an argument that it accepted and left empty was not made", async () => {
  const service = await startService({ behaviour: { extraFields: { public_ip: null } } });
  const saved = await madeInstance(service);
  service.emulator.ignoreUpdatesOf("public_ip");
  const error = await failureOf(
    service.instances.update(saved.id, saved.state, changed(saved, { publicIp: "auto" })),
  );
  expect(error.message).toContain("did not change publicIp");
});

test("what somebody else changes right after our update is drift, not the service's own spelling", async () => {
  const late = { edit: () => {} };
  const service = await startService({ onRequest: ({ method }) => method === "PUT" && late.edit() });
  const saved = await madeInstance(service);
  late.edit = () => service.emulator.edit(saved.id, { network: "backend" });
  const { outs } = await service.instances.update(
    saved.id,
    saved.state,
    changed(saved, { flavor: "m1.large" }),
  );
  const { inputs } = await service.instances.read(saved.id, outs);
  expect(inputs).toMatchObject({ network: "backend" });
});

test("an update without a change of its own takes over nobody else's, nor the right to overwrite it", async () => {
  const service = await startService();
  const saved = await madeInstance(service);
  service.emulator.edit(saved.id, { network: "backend" });
  const { outs } = await service.instances.update(saved.id, saved.state, saved.inputs);
  await failureOf(service.instances.update(saved.id, outs, changed(saved, { flavor: "m1.large" })));
  expect(service.emulator.instances.get(saved.id)?.fields.network).toBe("backend");
});

test("an argument that is set for the first time and not made is not in the state: the next update sends it again", async () => {
  const service = await startService({ behaviour: { extraFields: { public_ip: null } } });
  const saved = await madeInstance(service);
  service.emulator.ignoreUpdatesOf("public_ip");
  let { state } = saved;
  for (const _ of ["first", "again"]) {
    const error = await failureOf(
      service.instances.update(saved.id, state, changed(saved, { publicIp: "auto" })),
    );
    expect(error.message).toContain("did not change publicIp");
    state = { ...Object(Object(error).properties) };
    expect("publicIp" in state).toBe(false);
  }
});
