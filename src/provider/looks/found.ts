import * as v from "valibot";

const text = v.fallback(v.optional(v.string()), undefined);

/** What a function tells of an instance, under the program's names. What is of another form than expected is left out. */
export const foundInstance = v.object({
  id: v.string(),
  project: text,
  name: text,
  image: text,
  flavor: text,
  network: text,
  publicIp: text,
  sshKeys: v.fallback(v.optional(v.array(v.string())), undefined),
  labels: v.fallback(v.optional(v.record(v.string(), v.string())), undefined),
  status: text,
  createdAt: text,
  revision: text,
  url: text,
  ipAddress: text,
});

/** What a function tells of a project. */
export const foundProject = v.object({
  id: v.string(),
  name: text,
  region: text,
  description: text,
  createdAt: text,
});
