import { describe, expect, test } from "vitest";
import type { Properties } from "../../../src/model/state";
import { oneInstance } from "../one-instance";
import { SSH_KEY } from "../samples";

const isEmpty = (v: unknown): boolean =>
  v === null || v === "" || (typeof v === "object" && Object.keys(v as object).length === 0);
const spelling = (now: Readonly<Record<string, unknown>>): object =>
  Object.fromEntries(Object.entries(now).filter(([, v]) => !isEmpty(v)));
/** Rewrites replies as a service does that omits empty fields (`omitempty` in Go) and shows no mode for no public address. */
const noneIsNull = (now: Readonly<Record<string, unknown>>): object =>
  spelling({ ...now, public_ip: now.public_ip === "none" ? null : now.public_ip });
const all = { publicIp: "auto", labels: { env: "prod" }, sshKeys: [SSH_KEY] };
const cases: [string, Properties][] = [
  ["sshKeys: []", { sshKeys: [] }],
  ["sshKeys removed", { sshKeys: undefined }],
  ["labels: {}", { labels: {} }],
  ["labels removed", { labels: undefined }],
  ["publicIp: none", { publicIp: "none" }],
  ["publicIp removed", { publicIp: undefined }],
];

describe.each(cases)("%s at a service that omits empty fields", (_name, change) => {
  test("is updated", async () => {
    const { web } = await oneInstance({ behaviour: { spelling: noneIsNull } });
    expect(await web.up(all)).toBeUndefined();
    expect(await web.up({ ...all, ...change })).toBeUndefined();
  });

  test("is updated even if one reply is lost", async () => {
    const { web, service } = await oneInstance({ behaviour: { spelling: noneIsNull } });
    expect(await web.up(all)).toBeUndefined();
    service.emulator.fail({ kind: "lost-reply", method: "PUT" });
    expect(await web.up({ ...all, ...change })).toBeUndefined();
  });

  test("is finished by the next `up` if an outage loses all replies", async () => {
    const { web, service } = await oneInstance({ behaviour: { spelling: noneIsNull } });
    expect(await web.up(all)).toBeUndefined();
    service.emulator.fail({ kind: "lost-reply", method: "PUT", times: 8 });
    expect(await web.up({ ...all, ...change })).toContain("The service may have applied the update");
    expect(await web.up({ ...all, ...change })).toBeUndefined();
  });

  test("can be reverted together with another change if an outage loses all replies", async () => {
    const { web, service } = await oneInstance({ behaviour: { spelling: noneIsNull } });
    expect(await web.up(all)).toBeUndefined();
    service.emulator.fail({ kind: "lost-reply", method: "PUT", times: 8 });
    expect(await web.up({ ...all, ...change })).toContain("The service may have applied the update");
    expect(await web.up({ ...all, network: "other" })).toBeUndefined();
  });
});
