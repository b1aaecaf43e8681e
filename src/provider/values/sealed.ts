import { redact } from "../../diagnostics/redact";
import type { HostProvider, Properties, ReadAnswer } from "../host";
import { secretsOf } from "../inputs/secrets";
import type { Field } from "./fields";

/** How a provider marks a value as secret for the engine, which does so by itself only if an input of the same name is secret. */
const asSecret = (value: unknown): Properties => ({
  "4dabf18193072939515e22adb298388d": "1b47061264138c4ac30d75fd1eb44270",
  value,
});

/** The inputs that the service may derive outputs from, in a form that can't be recognized: a URL with a slug of the name. */
const DERIVED: Readonly<Record<string, string>> = {
  ipAddress: "publicIp",
  url: "name",
  description: "name",
};

/** Outputs in which `additionalProperties` is secret, and each output that repeats a secret input or may be derived from one. */
export function sealed(fields: readonly Field[], outputs: Properties): Properties {
  const { names, texts } = secretsOf(outputs);
  const isOwn = (name: string): boolean =>
    !name.startsWith("__") && !fields.some((field) => field.name === name);
  const repeats = (name: string, value: unknown): boolean =>
    names.has(DERIVED[name] ?? "") || (typeof value === "string" && redact(value, texts) !== value);
  // A program marks additionalProperties as secret, but after `pulumi import` a refresh may come before any program.
  const isSecret = (name: string, value: unknown): boolean =>
    isOwn(name) && (name === "additionalProperties" || repeats(name, value));
  return Object.fromEntries(
    Object.entries(outputs).map(([name, value]) => [name, isSecret(name, value) ? asSecret(value) : value]),
  );
}

/** The provider with {@link sealed} outputs. */
export function sealing(fields: readonly Field[], provider: HostProvider): HostProvider {
  return {
    ...provider,
    async create(inputs) {
      const { id, outs } = await provider.create(inputs);
      return { id, outs: sealed(fields, outs) };
    },
    async read(id, state) {
      const found = await provider.read(id, state);
      return isFound(found) ? { ...found, props: sealed(fields, found.props) } : found;
    },
    async update(id, olds, news) {
      const { outs } = await provider.update(id, olds, news);
      return { outs: sealed(fields, outs) };
    },
  };
}

function isFound(answer: ReadAnswer): answer is Extract<ReadAnswer, { id: string }> {
  return answer.id !== undefined;
}
