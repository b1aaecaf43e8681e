import fc from "fast-check";
import type { Behaviour } from "../../../src/emulator";
import type { Properties } from "../../../src/model/state";
import { type Damage, damage } from "./damage";
import { nastyValue, oddText } from "./nasty";
import type { Planned } from "./spoiling";
import { spoilings } from "./spoilings";

/** One `up`: the program's resource, and what happens to the provider process. */
export interface Up {
  readonly do: "up";
  /** Arguments that differ from the usual ones. */
  readonly args: Properties;
  /** Further arguments of any form. If check rejects them, they are removed. */
  readonly odd: Properties;
  readonly key: string;
  readonly timeouts: Properties | undefined;
  /** Whether the program has the `import` option. */
  readonly imports: boolean;
  readonly interruptedAfterMs: number | undefined;
}

export type Step =
  | Up
  | { readonly do: "refresh" }
  /** A list function of the program. */
  | { readonly do: "list" }
  | { readonly do: "destroy"; readonly refresh: boolean }
  | { readonly do: "damage"; readonly damage: Damage }
  /** A change by somebody else at the service. */
  | { readonly do: "edit"; readonly field: string; readonly value: string }
  | { readonly do: "remove" }
  /** The token loses its permission for all projects, or gets it back. */
  | { readonly do: "hide"; readonly hides: boolean };

/** A generated case: a program, a service with faults, and the steps. */
export interface Case {
  readonly kind: "instance" | "project";
  readonly resource: string;
  /** The secrets. `secrets` names the arguments that contain `secret`. */
  readonly token: string;
  readonly secret: string;
  readonly secrets: readonly string[];
  /** The properties that the option `ignoreChanges` lists. */
  readonly ignores: readonly string[];
  readonly behaviour: Partial<Behaviour>;
  readonly operationTimeout: string;
  readonly failure: "none" | "nothing left" | "object left";
  readonly steps: readonly Step[];
  readonly plan: readonly Planned[];
}

const alphanumeric = fc.constantFrom(..."abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789");
const random = (length: number): fc.Arbitrary<string> =>
  fc.string({ unit: alphanumeric, minLength: length, maxLength: length });
/** Includes the characters that encodings change (RFC 6750). */
const token = fc.tuple(random(14), random(14)).map(([a, b]) => `${a}+/~${b}=`);
const secret = fc
  .tuple(random(14), random(14), fc.constantFrom("", '"', "/", " ", "ü", "\\"))
  .map(([a, b, c]) => a + c + b);

const duration = fc.constantFrom("3s", "30s", "2m", "40m", "40m");
const behaviour: fc.Arbitrary<Partial<Behaviour>> = fc.record({
  operationMs: fc.constantFrom(0, 300, 300, 1_000, 5_000, 100_000),
  progress: fc.constantFrom("linear", "bursts", "stuck", "absent"),
  resultLink: fc.constantFrom("absolute", "absolute", "relative", "early", "early", "missing"),
  location: fc.constantFrom("absolute", "relative", "missing"),
  getObject: fc.constantFrom(200, 200, 404, 405),
  deleteObject: fc.constantFrom(204, 202, 200, 405),
  revision: fc.constantFrom("both", "header", "body", "weak", "none"),
  putReply: fc.constantFrom(200, 202, 204),
  projectPost: fc.constantFrom(200, 201, 202),
  failedStatus: fc.constantFrom("failed", "error", "canceled", "exploded"),
  failedHasError: fc.boolean(),
  finishedAt: fc.boolean(),
  fractionalDates: fc.boolean(),
  instanceLimit: fc.constantFrom("accepted", "refused"),
  pageSize: fc.constantFrom(undefined, 1, 2),
  ipField: fc.constantFrom("ip_address", "public_address", "public_ip"),
  publicIpShows: fc.constantFrom("mode", "mode", "null"),
  instanceVisible: fc.constantFrom("at-once", "when-done"),
  uniqueNames: fc.boolean(),
});

const rarely = <T>(usual: T, ...others: T[]): fc.Arbitrary<T> =>
  fc.oneof(
    { weight: 6, arbitrary: fc.constant(usual) },
    { weight: 1, arbitrary: fc.constantFrom(...others) },
  );

/** Most switches keep their defaults, because a case with all of them at once would never get far. */
const unusual: fc.Arbitrary<Partial<Behaviour>> = fc.record({
  revisionOf: rarely<Behaviour["revisionOf"]>("changes", "shown"),
  unshown: rarely<readonly string[]>([], ["ssh_keys"], ["public_ip", "labels"]),
  ids: rarely<Behaviour["ids"]>("prefixed", "counter", "number", "slug", "uuid"),
  idsFollowNames: fc.boolean(),
  idReuse: fc.boolean(),
  operationKeptMs: rarely<number | undefined>(undefined, 0, 1_000, 60_000),
  operationKeptPolls: rarely<number | undefined>(undefined, 0, 1),
  purgedStatus: fc.constantFrom(404, 410),
  locationOrigin: rarely<string | undefined>(undefined, "http://internal.example"),
  resultOrigin: rarely<string | undefined>(undefined, "http://10.0.0.1:8080"),
  writeReply: rarely<Behaviour["writeReply"]>("full", "slim"),
  acceptedReply: rarely<Behaviour["acceptedReply"]>("operation", "location", "bare"),
  busyInstance: fc.constantFrom("accepted", "refused"),
  conflictDetail: rarely<string | undefined>(undefined, "an earlier request is in progress", "outstanding"),
  softDelete: rarely<string | undefined>(undefined, "deleted", "TERMINATED", "Deleted"),
  softDeleteMs: rarely<number | undefined>(undefined, 1_000, 60_000),
  softDeleteIn: fc.constantFrom("both", "reads"),
  normalize: rarely<Behaviour["normalize"]>(
    [],
    ["ids"],
    ["upper-case"],
    ["lower-case", "trimmed"],
    ["bare-keys"],
    ["fingerprints"],
  ),
  absentValues: rarely<Behaviour["absentValues"]>("omitted", "null"),
  numbersAsText: rarely(false, true),
  itemsWithout: rarely<readonly string[]>([], ["labels", "ssh_keys"], ["project", "flavor", "network"]),
  emptyItems: rarely<Behaviour["emptyItems"]>("list", "null", "absent"),
  lastCursor: rarely<Behaviour["lastCursor"]>("null", "absent", "empty"),
  lagMs: rarely(0, 300, 1_000),
  lagIn: fc.constantFrom("lists", "reads", "both"),
  lagPart: fc.constantFrom("all", "fields", "objects"),
  keyReuseStatus: fc.constantFrom(422, 409),
  traceIds: rarely<Behaviour["traceIds"]>("fresh", "constant", "zeros", "empty", "missing"),
  problemDetail: rarely<Behaviour["problemDetail"]>("text", "list", "missing", "long"),
  retryAfter: rarely<number | undefined>(undefined, 1),
  retryAfterForm: fc.constantFrom("seconds", "http-date", "asctime"),
  forbiddenStatus: fc.constantFrom(403, 404, 401),
});

const label = fc.dictionary(fc.constantFrom("team", "stage", "a/b", "__proto__", "constructor"), oddText, {
  maxKeys: 3,
});
const usual: fc.Arbitrary<Properties> = fc.record(
  {
    name: fc.constantFrom("web", "api", "db"),
    region: fc.constantFrom("eu-1", "us-1"),
    image: fc.constantFrom("debian-13", "debian-13", "debian-13", "alpine-3"),
    flavor: fc.constantFrom("m1.small", "m1.huge"),
    network: fc.constantFrom("default", "backend"),
    publicIp: fc.constantFrom("auto", "203.0.113.99"),
    sshKeys: fc.array(
      fc.constantFrom("ssh-ed25519 AAAAC3Nza ada@example.org", "ssh-rsa AAAAB3Nza", "odd key"),
      {
        maxLength: 2,
      },
    ),
    labels: label,
  },
  { requiredKeys: [] },
);
const odd: fc.Arbitrary<Properties> = fc.oneof(
  { weight: 3, arbitrary: fc.constant({}) },
  {
    weight: 2,
    arbitrary: fc.dictionary(
      fc.constantFrom(
        ...["project", "name", "region", "image", "flavor", "network", "publicIp", "sshKeys", "labels"],
        ...[
          "flavour",
          "__proto__",
          "constructor",
          "__timeouts",
          "__secrets",
          "__import",
          "__autonamed",
          "__keyAt",
          "__words",
        ],
      ),
      fc.oneof(nastyValue, fc.constant("04da6b54-80e4-46f7-96ec-b56ff0331ba9")),
      { minKeys: 1, maxKeys: 3 },
    ),
  },
);

const up: fc.Arbitrary<Up> = fc.record({
  do: fc.constant("up"),
  args: usual,
  odd,
  key: fc.uuid({ version: 4 }),
  timeouts: fc.oneof(
    { weight: 3, arbitrary: fc.constant(undefined) },
    { weight: 1, arbitrary: fc.dictionary(fc.constantFrom("create", "update", "delete"), duration) },
  ),
  imports: fc.constantFrom(false, false, false, false, false, true),
  interruptedAfterMs: fc.oneof(
    { weight: 9, arbitrary: fc.constant(undefined) },
    { weight: 1, arbitrary: fc.nat({ max: 4_000 }) },
  ),
});
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 6, arbitrary: up },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("refresh") }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("list") }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("destroy"), refresh: fc.boolean() }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("damage"), damage }) },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant("edit"),
      field: fc.constantFrom("name", "flavor", "owner"),
      value: oddText,
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant("edit"),
      field: fc.constant("public_ip"),
      value: fc.constantFrom("auto", "203.0.113.50"),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("remove") }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("hide"), hides: fc.boolean() }) },
);

export const cases: fc.Arbitrary<Case> = fc.record({
  kind: fc.constantFrom("instance", "instance", "project"),
  resource: fc.constantFrom("web", "a::b", "x y", "ü"),
  // Shrinking must not make both the same.
  token: fc.noShrink(token),
  secret: fc.noShrink(secret),
  secrets: fc.subarray(["name", "network", "sshKeys", "labels", "region"]),
  ignores: fc.oneof(
    { weight: 3, arbitrary: fc.constant([]) },
    { weight: 1, arbitrary: fc.subarray(["flavor", "image", "publicIp", "sshKeys"], { maxLength: 2 }) },
  ),
  behaviour: fc.tuple(behaviour, unusual).map(([usual, more]) => ({ ...usual, ...more })),
  operationTimeout: duration,
  failure: fc.constantFrom("none", "none", "none", "none", "none", "none", "nothing left", "object left"),
  steps: fc.tuple(up, fc.array(step, { maxLength: 5 })).map(([first, more]) => [first, ...more]),
  plan: spoilings,
});
