import { readSettings } from "../../src/config/settings";
import { type Kind, withAddressField } from "../../src/model/resource-fields";
import { deadlineIn } from "../../src/polling/clock";
import type { Context } from "../../src/provider/context";
import { ObjectFinder } from "../../src/provider/lookup/object-finder";
import { Progress } from "../../src/provider/progress";
import { ResourceTracker } from "../../src/provider/resource-tracker";
import { noJournal } from "../journal/no-journal";
import { FakeClock } from "../polling/fake-clock";
import type { FakeService } from "./fake-service";

/** Returns the context of a call to a fake service, with a deadline of one minute on a clock that advances by itself. */
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
      warn: async () => {},
      close: async () => {},
    },
    deadline: deadlineIn(60_000, clock),
    signal: new AbortController().signal,
    progress: new Progress({ write: async () => {} }, "reading", { clock, inCi: true }),
    secretSources: [],
  };
}
