import type { Properties } from "../../src/model/state";
import { instanceNews } from "../provider/samples";
import { failureOf, type Service, startService } from "../provider/service";

/** Returns the message of a creation, after `spoil` changed the service. */
export async function creating(spoil: (service: Service) => unknown, more: Properties = {}): Promise<string> {
  const service = await startService();
  const project = service.emulator.addProject().id;
  await spoil(service);
  return (await failureOf(service.instances.create(instanceNews({ project, ...more })))).message;
}
