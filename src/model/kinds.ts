import type * as v from "valibot";
import type { Accepted, ApiObject, CallOptions, Client, Page } from "../api/client";
import { argumentsSchema, type Field, instanceFields, projectFields } from "./fields";

/** What the provider has to know of a kind of object; all else is the same for projects and instances. */
export interface Kind {
  readonly name: "project" | "instance";
  readonly article: "a" | "an";
  readonly fields: readonly Field[];
  readonly arguments: v.GenericSchema;
  create(client: Client, body: string, key: string, options: CallOptions): Promise<Accepted>;
  get(client: Client, id: string, options: CallOptions): Promise<ApiObject>;
  /** Every object of the kind; of instances, those of one project. */
  list(client: Client, project: string | undefined, options: CallOptions): Promise<ApiObject[]>;
  /** The same list, page by page. */
  pages(client: Client, project: string | undefined, options: CallOptions): AsyncIterable<Page>;
  delete(client: Client, id: string, options: CallOptions): Promise<Accepted>;
}

/** Whether a URN is that of a resource of this kind. */
export function isUrnOf({ name }: Kind, urn: string): boolean {
  return urn.toLowerCase().includes(`cloudinfra:${name}::`);
}

/** Returns the kind with the field that shows the public address, if the settings name one. */
export function withAddressField(kind: Kind, name: string | undefined): Kind {
  // Kinds are compared with each other, and a project has no address.
  if (name === undefined || kind === projectKind) return kind;
  const named = (field: Field): Field => (field.addressFields ? { ...field, addressFields: [name] } : field);
  return { ...kind, fields: kind.fields.map(named) };
}

export const projectKind: Kind = {
  name: "project",
  article: "a",
  fields: projectFields,
  arguments: argumentsSchema(projectFields),
  create: (client, body, key, options) => client.projects.create(body, key, options),
  get: (client, id, options) => client.projects.get(id, options),
  list: (client, _project, options) => client.projects.list(options),
  pages: (client, _project, options) => client.projects.pages(options),
  delete: (client, id, options) => client.projects.delete(id, options),
};

export const instanceKind: Kind = {
  name: "instance",
  article: "an",
  fields: instanceFields,
  arguments: argumentsSchema(instanceFields),
  create: (client, body, key, options) => client.instances.create(body, key, options),
  get: (client, id, options) => client.instances.get(id, options),
  list: (client, project, options) =>
    client.instances.list(project === undefined ? {} : { project }, options),
  pages: (client, project, options) =>
    client.instances.pages(project === undefined ? {} : { project }, options),
  delete: (client, id, options) => client.instances.delete(id, options),
};

/** Identifies an object of the service. A project and an instance may have the same id, and ids may be used again (I1). */
export interface ObjectIdentity {
  /** Normalized base URL of the service. */
  readonly endpoint: string;
  readonly kind: Kind["name"];
  readonly id: string;
}

/** Returns a text that is the same for the same object, and for no other. */
export function identityKey({ endpoint, kind, id }: ObjectIdentity): string {
  return JSON.stringify([endpoint, kind, id]);
}
