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
  /** Outputs that the engine returns for a resource of this name, besides the inputs. */
  outputs?: (name: string) => Readonly<Record<string, unknown>>;
  /** @default none */
  organization?: string;
  /** Gets each registration request as the SDK sends it. */
  onRequest?: (request: RegisterRequest) => void;
}

interface RegisterRequest {
  getName(): string;
  getProtect(): boolean;
  getAdditionalsecretoutputsList(): string[];
  getDependenciesList(): string[];
  getIgnorechangesList(): string[];
}

/** Runs a piece of a program against an engine that only takes notes, and waits until everything is registered. */
export async function registered(program: () => unknown, run: Run = {}): Promise<Registered[]> {
  const { preview = false, outputs = () => ({}), organization, onRequest } = run;
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
    organization,
  );
  if (onRequest) watchRequests(onRequest);
  await program();
  await pulumi.runtime.disconnect(); // everything that is under way has ended then
  return seen;
}

function watchRequests(onRequest: (request: RegisterRequest) => void): void {
  const monitor = Object(pulumi.runtime.getMonitor());
  const { registerResource } = monitor;
  monitor.registerResource = (request: RegisterRequest, callback: unknown) => {
    onRequest(request);
    return Reflect.apply(registerResource, monitor, [request, callback]);
  };
}

/** The only resource that a program registers. */
export async function one(program: () => unknown, run: Run = {}): Promise<Registered> {
  const [first, ...others] = await registered(program, run);
  if (first === undefined || others.length > 0)
    throw new Error(`${others.length} resources too many, or none`);
  return first;
}

/** The resource of that name among those that a program registers inside its stack. */
export async function oneInStack(
  name: string,
  program: () => Promise<unknown>,
  run: Run = {},
): Promise<Registered> {
  const seen = await registered(
    () =>
      pulumi.runtime.runInPulumiStack(async () => {
        await program();
        return {};
      }),
    run,
  );
  const found = seen.find((resource) => resource.name === name);
  if (found === undefined) throw new Error(`no resource "${name}" was registered`);
  return found;
}
