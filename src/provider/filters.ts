import { CloudInfraError } from "../diagnostics/error";

/** Selects the instances to list (§4.4). Each property that is set narrows the result. */
export interface InstanceFilter {
  readonly project?: string | undefined;
  readonly status?: string | undefined;
  readonly labels?: Readonly<Record<string, string>> | undefined;
}

/**
 * Validates the arguments of `getInstances`. A JavaScript program may pass anything, and an ignored filter would widen the result.
 *
 * @param secrets names of the secret arguments, whose label keys are secret, too
 * @throws CloudInfraError `input_invalid`, which names each invalid property but no values
 */
export function instanceFilter(given: unknown, secrets: readonly string[] = []): InstanceFilter {
  const args = new Arguments(given, ["project", "status", "labels"], secrets);
  return args.checked({
    project: args.text("project"),
    status: args.text("status"),
    labels: args.labels("labels"),
  });
}

/** Whether an instance matches a filter. */
export function matchesFilter(
  one: { readonly project?: unknown; readonly status?: unknown; readonly labels?: InstanceFilter["labels"] },
  { project, status, labels = {} }: InstanceFilter,
): boolean {
  if (project !== undefined && one.project !== project) return false;
  if (status !== undefined && one.status !== status) return false;
  return Object.entries(labels).every(([key, value]) => one.labels?.[key] === value);
}

class Arguments {
  private readonly args: ReadonlyMap<string, unknown>;
  private readonly problems: string[] = [];

  constructor(
    given: unknown = {},
    known: readonly string[],
    private readonly secrets: readonly string[] = [],
  ) {
    this.args = new Map(isMap(given) ? Object.entries(given) : []);
    if (!isMap(given)) this.problems.push(`the arguments must be a map, but are ${nameOf(given)}`);
    for (const name of this.args.keys()) {
      if (!known.includes(name))
        this.problems.push(`unknown argument "${name}"; expected ${known.join(", ")}`);
    }
  }

  text(name: string): string | undefined {
    const value = this.args.get(name);
    if (value === undefined) return undefined;
    const text = this.string(name, value);
    if (text?.trim() === "") this.problems.push(`${name}: must not be empty`);
    return text;
  }

  labels(name: string): Record<string, string> | undefined {
    const value = this.args.get(name);
    if (value === undefined) return undefined;
    if (!isMap(value)) {
      this.problems.push(`${name}: must be a map of strings, but is ${nameOf(value)}`);
      return undefined;
    }
    const labels = Object.entries(value).map(([key, label]) => {
      const path = this.secrets.includes(name) ? name : pathOf(name, key);
      if (!/^\S+$/.test(key))
        this.problems.push(`${path}: a label key must not be empty or contain white space`);
      return [key, this.string(path, label) ?? ""] as const;
    });
    return Object.fromEntries(labels);
  }

  /** Returns the filter if all arguments are valid. */
  checked<T>(filter: T): T {
    if (this.problems.length === 0) return filter;
    throw new CloudInfraError("input_invalid", this.problems.join("; "), {
      hint: "Correct the arguments, or omit a filter that you don't need",
    });
  }

  private string(path: string, value: unknown): string | undefined {
    if (typeof value === "string") return value;
    this.problems.push(`${path}: must be a string, but is ${nameOf(value)}`);
    return undefined;
  }
}

const pathOf = (name: string, key: string): string =>
  /^\w+$/.test(key) ? `${name}.${key}` : `${name}[${JSON.stringify(key)}]`;

const isMap = (value: unknown): value is object =>
  typeof value === "object" && value !== null && !Array.isArray(value);

function nameOf(value: unknown): string {
  if (value === undefined || value === null || Number.isNaN(value)) return String(value);
  if (Array.isArray(value)) return "a list";
  return `a ${typeof value === "object" ? "map" : typeof value}`;
}
