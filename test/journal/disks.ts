import { type Disk, systemDisk } from "../../src/journal/disk";

/** The name of a call of the disk, or of an open file: `rename`, `file.sync`. */
type Call = (name: string, args: readonly unknown[]) => Promise<unknown> | unknown;

/** The system's disk, with something done before each call: what throws there fails the call. */
export function diskWith(before: Call): Disk {
  return watched(systemDisk, (name, args) => before(name, args));
}

function watched<T extends object>(target: T, before: Call, prefix = ""): T {
  return new Proxy(target, {
    get(_, name) {
      const method: unknown = Reflect.get(target, name);
      if (typeof method !== "function") return method;
      return async (...args: unknown[]): Promise<unknown> => {
        await before(prefix + String(name), args);
        const result: unknown = await method.apply(target, args);
        return name === "open" ? watched(asObject(result), before, "file.") : result;
      };
    },
  });
}

function asObject(value: unknown): object {
  if (typeof value !== "object" || value === null) throw new Error("an open file is an object");
  return value;
}

/** A disk whose calls of these names fail with this error. */
export const failingDisk = (code: string, ...names: string[]): Disk =>
  diskWith((name) => {
    if (names.includes(name)) throw errorOf(code);
  });

/** An error as the system makes it. */
export const errorOf = (code: string): Error => Object.assign(new Error(`${code}: no luck`), { code });
