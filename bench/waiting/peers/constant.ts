import type { Waiter } from "../waiter";

/** A waiter with a constant pause. */
function constant(name: string, pauseMs: number, firstLook: "at once" | "after a pause"): Waiter {
  return {
    name,
    adaptive: false,
    heeds: [],
    async wait(_accepted, look) {
      if (firstLook === "after a pause") await pause(pauseMs);
      while ((await look()).state === "running") await pause(pauseMs);
    },
  };
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** Like hcloud-go's `ActionClient.WaitFor`. */
export const everyHalfSecond = constant("0.5 s (hcloud-go)", 500, "after a pause");
/** Like Terraform's provider for Google Cloud, whose `StateChangeConf` has a `PollInterval` and no `Delay`. */
export const everyTenSeconds = constant("10 s (Terraform google)", 10_000, "at once");
