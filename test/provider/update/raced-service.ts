import type { LoggedRequest } from "../../../src/emulator";
import type { Properties } from "../../../src/model/state";
import { changed, type Saved, type Service, type ServiceOptions, startService } from "../service";

/** A service at which others are at work, too. */
export interface RacedService extends Service {
  /** Does something once, right after the next request of this method has been answered (or its answer was lost). */
  after(method: string, action: (request: LoggedRequest) => void): void;
  /** What the service holds of an instance. */
  fieldsOf(saved: Saved): Readonly<Record<string, unknown>>;
  /** An update as the host asks for it: the state's outputs and the checked inputs. */
  updated(saved: Saved, more: Properties, state?: Properties): Promise<{ outs: Properties }>;
  /** Status of each PUT so far; 0 where no answer came. */
  puts(): number[];
}

export async function startRaced(options: Omit<ServiceOptions, "onRequest"> = {}): Promise<RacedService> {
  const waiting: { method: string; action: (request: LoggedRequest) => void }[] = [];
  const onRequest = (request: LoggedRequest): void => {
    const index = waiting.findIndex(({ method }) => method === request.method);
    if (index >= 0) waiting.splice(index, 1)[0]?.action(request);
  };
  const service = await startService({ ...options, onRequest });
  const { emulator } = service;
  return {
    ...service,
    after: (method, action) => void waiting.push({ method, action }),
    fieldsOf: ({ id }) => structuredClone(emulator.instances.get(id)?.fields ?? {}),
    updated: (saved, more, state = saved.state) =>
      service.instances.update(saved.id, state, changed(saved, more)),
    puts: () => emulator.requests.filter(({ method }) => method === "PUT").map(({ status }) => status),
  };
}
