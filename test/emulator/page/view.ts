import assert from "node:assert/strict";
import type { Emulator } from "../../../src/emulator";
import type { View } from "../../../src/emulator/page/view";

/** Returns what the page shows: the first event that it receives. */
export async function viewOf({ url }: Emulator): Promise<View> {
  const reply = await fetch(`${url}/page/events`);
  assert(reply.body);
  let text = "";
  for await (const chunk of reply.body.pipeThrough(new TextDecoderStream())) {
    text += chunk;
    const [, event] = /^data: (.*)\n\n/m.exec(text) ?? [];
    if (event !== undefined) return JSON.parse(event);
  }
  throw new Error("the stream ended");
}
