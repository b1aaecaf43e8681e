import * as v from "valibot";

const text = v.fallback(v.optional(v.string()), undefined);

/** Labels, whatever their keys: `v.record` would drop a label with the key `constructor`. */
const labels = v.pipe(
  v.custom<object>((value) => typeof value === "object" && value !== null && !Array.isArray(value)),
  v.transform((map): Record<string, string> => {
    const set = Object.entries(map).filter(([, value]) => value !== null && value !== undefined);
    return Object.fromEntries(
      set.map(([key, value]) => [key, typeof value === "string" ? value : JSON.stringify(value)]),
    );
  }),
);

/** What a function returns of an instance, with the property names of programs. A value of an unexpected type is left out. */
export const foundInstance = v.object({
  id: v.string(),
  project: text,
  name: text,
  image: text,
  flavor: text,
  network: text,
  publicIp: text,
  sshKeys: v.fallback(v.optional(v.array(v.string())), undefined),
  labels: v.fallback(v.optional(labels), undefined),
  status: text,
  createdAt: text,
  revision: text,
  url: text,
  ipAddress: text,
});

/** What a function returns of a project. */
export const foundProject = v.object({
  id: v.string(),
  name: text,
  region: text,
  description: text,
  createdAt: text,
});
