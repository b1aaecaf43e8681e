import { type HostProvider, InitializationError } from "../../../src/provider/host";

/** Wraps the provider so that arguments and results are JSON copies, as over a connection. */
export function overTheWire(provider: HostProvider): HostProvider {
  return {
    configure: (request) => provider.configure(request),
    check: async (olds, news) => copy(await provider.check(copy(olds), copy(news))),
    diff: (id, olds, news) => provider.diff(id, copy(olds), copy(news)),
    create: async (inputs) => copy(await provider.create(copy(inputs)).catch(thrown)),
    read: async (id, props) => copy(await provider.read(id, copy(props))),
    update: async (id, olds, news) => copy(await provider.update(id, copy(olds), copy(news)).catch(thrown)),
    delete: (id, props) => provider.delete(id, copy(props)),
  };
}

function thrown(error: unknown): never {
  if (!(error instanceof InitializationError)) throw error;
  throw new InitializationError(error.id, copy(error.properties), error.message, error.cause);
}

function copy<T>(value: T): T {
  return JSON.parse(JSON.stringify(value));
}
