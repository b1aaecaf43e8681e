import type { Counts } from "../service/messages";
import { median, spreadText } from "../statistics";
import { tableOf } from "../table";
import { type CommandName, commandsUntil, type Life, type Size } from "./measure";
import { VARIANTS, type Variant } from "./variants";

interface Measured {
  readonly size: Size;
  readonly lives: readonly Life[];
}

/** Formats the seconds of each command: median (minimum–maximum), and the ratio to the floor. */
export function secondsTable(measured: readonly Measured[]): string {
  const head = ["instances", "--parallel", "command", "no-op", "usual", "× no-op", "ours", "× no-op"];
  const rows = measured.flatMap(({ size, lives }) =>
    commandsUntil(size.until).map((command) => {
      const seconds = (variant: Variant): number[] => secondsOf(lives, variant, command);
      const times = (variant: Variant): string => ratio(seconds(variant), seconds("no-op"));
      const figures = [seconds("no-op"), seconds("usual"), seconds("ours")].map((all) =>
        all.length === 0 ? "" : spreadText(all, 1),
      );
      const [noOp = "", usual = "", ours = ""] = figures;
      const name = [String(size.instances), String(size.parallel), command];
      return [...name, noOp, usual, times("usual"), ours, times("ours")];
    }),
  );
  return tableOf(head, rows);
}

/** Formats the requests of each command, in the first run with this package. */
export function requestsTable(measured: readonly Measured[]): string {
  const rows = measured.flatMap(({ size, lives }) => {
    const ours = lives.find(({ variant }) => variant === "ours");
    const told = (command: CommandName): string => countsText(ours?.requests[command] ?? {});
    return ours === undefined
      ? []
      : commandsUntil(size.until).map((command) => [
          String(size.instances),
          String(size.parallel),
          command,
          told(command),
        ]);
  });
  return tableOf(["instances", "--parallel", "command", "requests"], rows);
}

/** Formats the size of the exported state in bytes, divided by the number of instances. */
export function stateTable(measured: readonly Measured[]): string {
  const rows = measured.map(({ size, lives }) => {
    const bytes = VARIANTS.map((variant) => lives.find((life) => life.variant === variant)?.stateBytes);
    return [String(size.instances), ...bytes.map((one) => one?.toFixed(0) ?? "")];
  });
  return tableOf(["instances", ...VARIANTS], rows);
}

function secondsOf(lives: readonly Life[], variant: Variant, command: CommandName): number[] {
  const all = lives.filter((life) => life.variant === variant).map(({ seconds }) => seconds[command]);
  return all.filter((one) => one !== undefined);
}

function ratio(ours: readonly number[], floor: readonly number[]): string {
  return ours.length === 0 || floor.length === 0 ? "" : (median(ours) / median(floor)).toFixed(2);
}

function countsText(counts: Counts): string {
  const all = Object.entries(counts).map(([kind, count]) => `${count} ${kind}`);
  return all.length === 0 ? "none" : all.join(", ");
}
