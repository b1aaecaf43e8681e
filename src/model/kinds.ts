import type * as v from "valibot";
import type { Accepted, ApiObject, CallOptions, Client, Page } from "../api/client";
import { argumentsSchema, type Field, instanceFields, projectFields } from "./fields";

/** How projects and instances differ. */
export interface Kind {
  readonly name: "project" | "instance";
  readonly article: "a" | "an";
  readonly fields: readonly Field[];
  readonly arguments: v.GenericSchema;
  create(client: Client, body: string, key: string, options: CallOptions): Promise<Accepted>;
  get(client: Client, id: string, options: CallOptions): Promise<ApiObject>;
  /** Lists all objects of the kind: for instances, those of one project if it is given. */
  list(client: Client, project: string | undefined, options: CallOptions): Promise<ApiObject[]>;
  /** Returns the same list page by page. */
  pages(client: Client, project: string | undefined, options: CallOptions): AsyncIterable<Page>;
  delete(client: Client, id: string, options: CallOptions): Promise<Accepted>;
}

/** Whether a URN belongs to a resource of this kind. */
export function isUrnOf({ name }: Kind, urn: string): boolean {
  return urn.toLowerCase().includes(`cloudinfra:${name}::`);
}

/** Returns the kind with the field that shows the public address, according to the setting `ipAddressField`. */
export function withAddressField(kind: Kind, name: string | undefined): Kind {
  // `projectKind` must stay the same object, because kinds are compared by identity. A project has no address.
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

/** The identity of an object. A project and an instance can have the same id, and services may reuse ids (I1). */
export interface ObjectIdentity {
  /** Normalized base URL of the service. */
  readonly endpoint: string;
  readonly kind: Kind["name"];
  readonly id: string;
}

/** Returns a string that is equal only for the same object. */
export function identityKey({ endpoint, kind, id }: ObjectIdentity): string {
  return JSON.stringify([endpoint, kind, id]);
}
