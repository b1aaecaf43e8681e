import type { Provider } from "../provider";
import { Reported, type Run } from "../run";
import type { Resource } from "../state/resource";
import { parseUrn } from "../state/urn";
import { showValue } from "../values/show";
import type { Values } from "../values/values";

/** Sets the inputs to the checked ones. Ends the command if the provider reports failures. */
export async function check(
  run: Run,
  provider: Provider,
  current: Resource,
  olds: Values,
  news: Values,
): Promise<void> {
  const { inputs, failures } = await provider.check(current.urn, olds, news);
  for (const { property, reason } of failures) {
    const name = `${current.type} resource '${parseUrn(current.urn).name}'`;
    const value = Object.hasOwn(current.inputs, property) ? current.inputs[property] : undefined;
    const where = property === "" ? "" : `: property ${property} value ${showValue(value)}`;
    run.reporter.diagnose({
      severity: "error",
      message: `${name}${where} has a problem: ${reason}`,
      urn: current.urn,
    });
  }
  current.inputs = inputs;
  if (failures.length > 0) throw new Reported(`${current.urn} is invalid`);
}
