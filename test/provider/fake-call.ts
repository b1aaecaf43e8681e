import { deadlineIn } from "../../src/operations/deadline";
import type { Context } from "../../src/provider/call";
import { type Kind, withAddressField } from "../../src/provider/kind";
import { ObjectFinder } from "../../src/provider/looks/sightings";
import { ResourceTracker } from "../../src/provider/memory";
import { readSettings } from "../../src/provider/settings/settings";
import { Progress } from "../../src/provider/shown/progress";
import { noJournal } from "../journal/no-journal";
import { FakeClock } from "../operations/fake-clock";
import type { FakeService } from "./fake-service";

/** One call of the host to a service made by hand, with a minute's time on a clock that runs by itself. */
export function callTo(
  fake: FakeService,
  kind: Kind,
  settings: Readonly<Record<string, string>> = {},
): Context {
  const clock = new FakeClock({ auto: true });
  const client = fake.client();
  const texts: Readonly<Record<string, string>> = {
    "cloudinfra:endpoint": client.endpoint,
    "cloudinfra:token": "t-1",
    ...settings,
  };
  const read = readSettings((key) => texts[key], {});
  return {
    kind: withAddressField(kind, read.ipAddressField),
    session: {
      settings: read,
      client,
      clock,
      finder: new ObjectFinder(client, clock, 60_000),
      journal: noJournal,
      tracker: new ResourceTracker(),
      warn: () => {},
      close: async () => {},
    },
    deadline: deadlineIn(60_000, clock),
    signal: new AbortController().signal,
    progress: new Progress({ write: async () => {} }, "reading", { clock, inCi: true }),
    secretSources: [],
  };
}
