import * as provider from "@pulumi/pulumi/proto/provider_pb";
import { Status } from "@pulumi/pulumi/proto/status_pb";
import { type Done, isServiceError, type ProviderProcess, type Send } from "./processes/provider-process";
import type { Resource } from "./state/resource";
import { parseUrn } from "./state/urn";
import { compareInputs, type Diff } from "./values/diff";
import {
  decodeMap,
  encodeMap,
  forConfigure,
  forProvider,
  holdsUnknown,
  markSecrets,
  type Values,
} from "./values/values";
import { Empty, Struct } from "./wire/protobuf";

export interface CheckFailure {
  readonly property: string;
  readonly reason: string;
}

/** The object exists but isn't ready. The partial state is saved, and the operation fails. */
export class InitError extends Error {
  constructor(
    readonly id: string,
    readonly outputs: Values,
    readonly reasons: readonly string[],
  ) {
    const heading = reasons.length === 1 ? "1 error occurred:" : `${reasons.length} errors occurred:`;
    super(`${heading}\n${reasons.map((reason) => `\t* ${reason}\n`).join("")}\n`);
  }
}

/** The provider can't compare before its configuration is known. The engine then assumes an update. */
export class DiffUnavailable extends Error {
  constructor() {
    super(
      "The provider for this resource has inputs that are not known during preview.\n" +
        "This preview may not correctly represent the changes that will be applied during an update.",
    );
  }
}

/** The calls to a provider, in the engine's types. */
export class Provider {
  /** In a preview, parts of the configuration may be unknown. The engine doesn't call such a provider. */
  #isConfigured = true;

  constructor(
    private readonly process: ProviderProcess,
    private readonly dryRun: boolean,
  ) {}

  async configure(inputs: Values): Promise<void> {
    if (holdsUnknown(inputs)) {
      this.#isConfigured = false;
      return;
    }
    const request = new provider.ConfigureRequest();
    request.setArgs(Struct.fromJavaScript(encodeMap(inputs, forConfigure)));
    request.setAcceptsecrets(true);
    request.setAcceptresources(true);
    await this.process.call("Configure", (client, done: Done<provider.ConfigureResponse>) =>
      client.configure(request, done),
    );
  }

  async check(
    urn: string,
    olds: Values,
    news: Values,
  ): Promise<{ inputs: Values; failures: CheckFailure[] }> {
    if (!this.#isConfigured) return { inputs: news, failures: [] };
    const request = new provider.CheckRequest();
    request.setUrn(urn);
    request.setName(parseUrn(urn).name);
    request.setType(parseUrn(urn).type);
    request.setOlds(toStruct(olds));
    request.setNews(toStruct(news));
    const response = await this.#call("Check", (client, done: Done<provider.CheckResponse>) =>
      client.check(request, done),
    );
    const failures = response
      .getFailuresList()
      .map((f) => ({ property: f.getProperty(), reason: f.getReason() }));
    return { inputs: markSecrets(fromStruct(response.getInputs()), news), failures };
  }

  async diff(
    urn: string,
    id: string,
    oldInputs: Values,
    oldOutputs: Values,
    news: Values,
    ignoreChanges: readonly string[],
  ): Promise<Diff> {
    if (!this.#isConfigured) throw new DiffUnavailable();
    const request = new provider.DiffRequest();
    request.setUrn(urn);
    request.setName(parseUrn(urn).name);
    request.setType(parseUrn(urn).type);
    request.setId(id);
    request.setOldInputs(toStruct(oldInputs));
    request.setOlds(toStruct(oldOutputs));
    request.setNews(toStruct(news));
    request.setIgnorechangesList([...ignoreChanges]);
    const response = await this.#call("Diff", (client, done: Done<provider.DiffResponse>) =>
      client.diff(request, done),
    );
    const answered = {
      replaces: response.getReplacesList(),
      deleteBeforeReplace: response.getDeletebeforereplace(),
    };
    const { DIFF_NONE, DIFF_UNKNOWN } = provider.DiffResponse.DiffChanges;
    if (response.getChanges() === DIFF_UNKNOWN)
      return { ...compareInputs(oldInputs, news, ignoreChanges), ...answered };
    return {
      changes: response.getChanges() !== DIFF_NONE,
      changed: response.getDiffsList(),
      detailed: {},
      ...answered,
    };
  }

  /** A preview makes no call. The inputs replace the outputs, and there is no id. */
  async create(resource: Resource): Promise<{ id: string; outputs: Values }> {
    if (this.dryRun) return { id: "", outputs: this.#isConfigured ? resource.inputs : {} };
    const request = new provider.CreateRequest();
    request.setUrn(resource.urn);
    request.setName(parseUrn(resource.urn).name);
    request.setType(resource.type);
    request.setProperties(toStruct(resource.inputs));
    request.setTimeout(resource.customTimeouts.create ?? 0);
    const response = await this.#call(
      "Create",
      (client, done: Done<provider.CreateResponse>) => client.create(request, done),
      resource.inputs,
    );
    if (response.getId() === "") throw new Error("the provider's reply to a create has no id");
    return {
      id: response.getId(),
      outputs: markSecrets(fromStruct(response.getProperties()), resource.inputs),
    };
  }

  async update(old: Resource, resource: Resource, ignoreChanges: readonly string[]): Promise<Values> {
    if (this.dryRun) return this.#isConfigured ? resource.inputs : {};
    const request = new provider.UpdateRequest();
    request.setUrn(resource.urn);
    request.setName(parseUrn(resource.urn).name);
    request.setType(resource.type);
    request.setId(old.id);
    request.setOldInputs(toStruct(old.inputs));
    request.setOlds(toStruct(old.outputs));
    request.setNews(toStruct(resource.inputs));
    request.setTimeout(resource.customTimeouts.update ?? 0);
    request.setIgnorechangesList([...ignoreChanges]);
    const response = await this.#call(
      "Update",
      (client, done: Done<provider.UpdateResponse>) => client.update(request, done),
      resource.inputs,
    );
    return markSecrets(fromStruct(response.getProperties()), resource.inputs);
  }

  /** Reads an object. An empty id means that the object doesn't exist. Without inputs, the old inputs stay. */
  async read(
    urn: string,
    id: string,
    inputs: Values,
    state: Values,
  ): Promise<{ id: string; inputs?: Values; outputs: Values }> {
    if (!this.#isConfigured) return { id: "", inputs: {}, outputs: {} };
    const request = new provider.ReadRequest();
    request.setUrn(urn);
    request.setName(parseUrn(urn).name);
    request.setType(parseUrn(urn).type);
    request.setId(id);
    request.setInputs(toStruct(inputs));
    request.setProperties(toStruct(state));
    const response = await this.#call(
      "Read",
      (client, done: Done<provider.ReadResponse>) => client.read(request, done),
      state,
    );
    const newInputs = response.getInputs();
    return {
      id: response.getId(),
      outputs: markSecrets(fromStruct(response.getProperties()), state),
      ...(newInputs ? { inputs: markSecrets(fromStruct(newInputs), inputs) } : {}),
    };
  }

  async delete(resource: Resource): Promise<void> {
    const request = new provider.DeleteRequest();
    request.setUrn(resource.urn);
    request.setName(parseUrn(resource.urn).name);
    request.setType(resource.type);
    request.setId(resource.id);
    request.setProperties(toStruct(resource.outputs));
    request.setOldInputs(toStruct(resource.inputs));
    request.setTimeout(resource.customTimeouts.delete ?? 0);
    await this.#call("Delete", (client, done: Done<Empty>) => client.delete(request, done));
  }

  async close(): Promise<void> {
    await this.process
      .call("Cancel", (client, done: Done<Empty>) => client.cancel(new Empty(), done))
      .catch(() => undefined);
    await this.process.close();
  }

  async #call<Response>(method: string, send: Send<Response>, inputs: Values = {}): Promise<Response> {
    try {
      return await this.process.call(method, send);
    } catch (error) {
      throw inTheProvidersWords(error, inputs);
    }
  }
}

function inTheProvidersWords(error: unknown, inputs: Values): unknown {
  if (!isServiceError(error)) return error;
  const [details] = error.metadata.get("grpc-status-details-bin");
  if (details instanceof Buffer) {
    for (const detail of Status.deserializeBinary(details).getDetailsList()) {
      if (detail.getTypeName() !== "pulumirpc.ErrorResourceInitFailed") continue;
      const failed = provider.ErrorResourceInitFailed.deserializeBinary(detail.getValue_asU8());
      return new InitError(
        failed.getId(),
        markSecrets(fromStruct(failed.getProperties()), inputs),
        failed.getReasonsList(),
      );
    }
  }
  return new Error(error.details, { cause: error });
}

function toStruct(values: Values): Struct {
  return Struct.fromJavaScript(encodeMap(values, forProvider));
}

export function fromStruct(struct: Struct | undefined): Values {
  return decodeMap(struct?.toJavaScript());
}
