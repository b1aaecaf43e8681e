import { isDeepStrictEqual } from "node:util";
import type { OperationKind } from "./behaviour";
import { invalid, type ProblemDetail, type ProblemDocument, type Refusal } from "./problems";

/** A planned failure of an operation. */
export interface PlannedFailure {
  /** The kind of operation to fail. @default any */
  readonly kind?: OperationKind;
  /** The members of the operation's problem document to change. @default none: status 500, code `capacity_exhausted` */
  readonly problem?: Partial<ProblemDocument>;
  /** Whether a failed creation leaves an object with the status `error`. @default the switch `failedCreation` */
  readonly leaveObject?: boolean;
  /** The progress at which the operation fails, from 0 to 1. @default 0.5 */
  readonly atProgress?: number;
}

interface FieldRule {
  readonly field: string;
  readonly problem: Partial<Refusal>;
}

/** The rules of a test: values and updates to reject, updates to ignore, and operations to fail. */
export class Rules {
  private readonly values: (FieldRule & { readonly value: unknown })[] = [];
  private readonly fixed: FieldRule[] = [];
  private readonly ignored = new Set<string>();
  private readonly failures: PlannedFailure[] = [];

  refuse(field: string, value: unknown, problem: Partial<Refusal>): void {
    this.values.push({ field, value, problem });
  }

  refuseUpdatesOf(field: string, problem: Partial<Refusal>): void {
    this.fixed.push({ field, problem });
  }

  ignoreUpdatesOf(field: string): void {
    this.ignored.add(field);
  }

  /** The number of planned failures. */
  get planned(): number {
    return this.failures.length;
  }

  failNext(failure: PlannedFailure): void {
    this.failures.push(failure);
  }

  /** Returns the oldest planned failure for a kind of operation, and removes it. */
  takeFailure(kind: OperationKind): PlannedFailure | undefined {
    const index = this.failures.findIndex((failure) => (failure.kind ?? kind) === kind);
    return index === -1 ? undefined : this.failures.splice(index, 1)[0];
  }

  /** Rejects a request whose body contains a value that a rule forbids. */
  checkValues(fields: Readonly<Record<string, unknown>>): Refusal | undefined {
    const rule = this.values.find(({ field, value }) => isDeepStrictEqual(fields[field], value));
    return rule && refusal(rule, `${rule.field} '${words(rule.value)}' is not available`);
  }

  /** Rejects an update that changes a field that a rule fixes. */
  checkChanges(changed: (field: string) => boolean): Refusal | undefined {
    const rule = this.fixed.find(({ field }) => changed(field));
    return rule && refusal(rule, `${rule.field} cannot be changed in place`);
  }

  ignoredFields(): Iterable<string> {
    return this.ignored;
  }
}

function refusal(rule: FieldRule, words: string): Refusal {
  const error: ProblemDetail = { pointer: `/${rule.field}`, detail: rule.problem.detail ?? words };
  return { ...invalid([error]), ...rule.problem };
}

function words(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}
