import type { Field, Kind } from "../../src/model/resource-fields";
import { type Properties, parseDeclared, parseDesired, parseRecorded, toBag } from "../../src/model/state";
import * as checks from "../../src/provider/check";
import * as diffs from "../../src/provider/diff";

/** Checks properties as the host passes them. */
export function check(
  kind: Kind,
  olds: Properties,
  program: Properties,
  findings?: Parameters<typeof checks.check>[2],
) {
  const prior = Object.keys(olds).length === 0 ? undefined : parseDesired(olds);
  const { inputs, failures } = checks.check(kind, { olds: prior, news: parseDeclared(program) }, findings);
  return { inputs: toBag(inputs), failures: failures.map((reason) => ({ property: "", reason })) };
}

/** Compares properties as the host passes them. */
export function diff(fields: readonly Field[], olds: Properties, news: Properties): diffs.DiffResult {
  return diffs.diff(fields, parseRecorded(olds), parseDesired(news));
}
