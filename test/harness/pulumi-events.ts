import { stripVTControlCharacters } from "node:util";
import type * as automation from "@pulumi/pulumi/automation";
import type { Diagnostic, EngineEvent, Step, StepOp } from "./engine";

type CliEvent = automation.EngineEvent;
type CliStep = automation.StepEventMetadata;

/** The contents of the events of one CLI command. */
export interface CollectedEvents {
  readonly steps: Step[];
  readonly diagnostics: Diagnostic[];
  changes: Record<string, number>;
  /** The stack's outputs. Secret values are hidden (`hidesSecret`). */
  outputs: Record<string, unknown>;
  /** The first error in an event handler. The SDK would only print a warning. */
  failure?: unknown;
}

const STACK_TYPE = "pulumi:pulumi:Stack";
const PROVIDER_TYPE = "pulumi:providers:";
const SECRET_SIGNATURE = "4dabf18193072939515e22adb298388d";

const STEP_OPS: readonly StepOp[] = [
  "same",
  "create",
  "update",
  "delete",
  "replace",
  "create-replacement",
  "delete-replaced",
  "discard-replaced",
  "remove-pending-replace",
  "read",
  "read-replacement",
  "read-discard",
  "refresh",
];

/** Collects the events of one command, and passes each on as it occurs. */
export function collectEvents(onEvent: (event: EngineEvent) => void = () => {}): {
  readonly collected: CollectedEvents;
  readonly take: (event: CliEvent) => void;
} {
  const collected: CollectedEvents = { steps: [], diagnostics: [], changes: {}, outputs: {} };
  const take = (event: CliEvent): void => {
    try {
      dispatch(event);
    } catch (error) {
      collected.failure ??= error;
    }
  };
  const dispatch = (event: CliEvent): void => {
    const { resourcePreEvent, resOutputsEvent, resOpFailedEvent, diagnosticEvent, summaryEvent } = event;
    if (resourcePreEvent) started(resourcePreEvent.metadata);
    if (resOutputsEvent) done(resOutputsEvent.metadata);
    if (resOpFailedEvent) tell(resOpFailedEvent.metadata, "step-failed");
    if (diagnosticEvent) said(diagnosticEvent);
    if (summaryEvent) collected.changes = { ...summaryEvent.resourceChanges };
  };
  const tell = (metadata: CliStep, kind: "step-started" | "step-failed"): Step | undefined => {
    const step = toStep(metadata);
    if (step) onEvent({ kind, ...step });
    return step;
  };
  const started = (metadata: CliStep): void => {
    const step = tell(metadata, "step-started");
    if (step) collected.steps.push(step);
  };
  const done = (metadata: CliStep): void => {
    if (metadata.type === STACK_TYPE) collected.outputs = { ...metadata.new?.outputs };
    const step = toStep(metadata);
    if (!step) return;
    // A refresh starts with the op `refresh`. Only its end contains the result.
    const refreshed = collected.steps.findIndex(({ urn, op }) => urn === step.urn && op === "refresh");
    if (refreshed >= 0) collected.steps[refreshed] = step;
    const initErrors = metadata.new?.initErrors;
    const shown = { inputs: { ...metadata.new?.inputs }, outputs: { ...metadata.new?.outputs } };
    onEvent({ kind: "step-done", ...step, shown, ...(initErrors?.length ? { initErrors } : {}) });
  };
  const said = (event: automation.DiagnosticEvent): void => {
    const diagnostic = toDiagnostic(event);
    if (!diagnostic) return;
    collected.diagnostics.push(diagnostic);
    onEvent({ kind: "diagnostic", ...diagnostic });
  };
  return { collected, take };
}

/** Omits default providers, which the CLI neither counts nor shows. */
function toStep({ op, urn, type, diffs, keys }: CliStep): Step | undefined {
  if (type.startsWith(PROVIDER_TYPE)) return undefined;
  const known = STEP_OPS.find((name) => name === op);
  if (!known) throw new Error(`the CLI reported an unknown step: ${op} of ${urn}`);
  return {
    op: known,
    urn,
    name: urn.split("::").at(-1) ?? urn,
    type,
    ...(diffs?.length ? { diffs } : {}),
    ...(keys?.length ? { replaces: keys } : {}),
  };
}

function toDiagnostic({
  severity,
  message,
  urn,
  ephemeral,
}: automation.DiagnosticEvent): Diagnostic | undefined {
  // The SDK's own tracing, which the Automation API always enables. The SDK's types don't include this severity.
  if (String(severity) === "debug") return undefined;
  return {
    severity,
    message: stripVTControlCharacters(message).trimEnd(),
    ...(urn ? { urn } : {}),
    ...(ephemeral ? { ephemeral } : {}),
  };
}

/** Whether a value from an event contains a hidden secret, at any depth. */
export function hidesSecret(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  return SECRET_SIGNATURE in value || Object.values(value).some(hidesSecret);
}
