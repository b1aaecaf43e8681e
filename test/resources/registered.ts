import * as pulumi from "@pulumi/pulumi";

/** A resource as it was registered (or, with an id, read). */
export interface Registered {
  readonly type: string;
  readonly name: string;
  readonly id?: string | undefined;
  readonly inputs: Readonly<Record<string, unknown>>;
}

export interface Run {
  /** @default false */
  preview?: boolean;
  /** What the engine answers for a resource of this name, beside the inputs. */
  outputs?: (name: string) => Readonly<Record<string, unknown>>;
}

/** Runs a piece of a program against an engine that only takes notes, and waits until everything is registered. */
export async function registered(
  program: () => unknown,
  { preview = false, outputs = () => ({}) }: Run = {},
): Promise<Registered[]> {
  const seen: Registered[] = [];
  await pulumi.runtime.setMocks(
    {
      call: () => ({}),
      newResource({ type, name, id, inputs }) {
        seen.push({ type, name, id, inputs });
        return { id: id || `${name}-id`, state: { ...inputs, ...outputs(name) } };
      },
    },
    "app",
    "dev",
    preview,
  );
  await program();
  await pulumi.runtime.disconnect(); // everything that is under way has ended then
  return seen;
}

/** The only resource that a program registers. */
export async function one(program: () => unknown, run: Run = {}): Promise<Registered> {
  const [first, ...others] = await registered(program, run);
  if (first === undefined || others.length > 0)
    throw new Error(`${others.length} resources too many, or none`);
  return first;
}
