import { createRequire } from "node:module";

// Uses the SDK's own copy of protobuf, because its messages don't accept objects of another copy.
const ofSdk = createRequire(require.resolve("@pulumi/pulumi/package.json"));

const struct: typeof import("google-protobuf/google/protobuf/struct_pb") = ofSdk(
  "google-protobuf/google/protobuf/struct_pb",
);
const empty: typeof import("google-protobuf/google/protobuf/empty_pb") = ofSdk(
  "google-protobuf/google/protobuf/empty_pb",
);

export const { Struct } = struct;
export type Struct = InstanceType<typeof Struct>;
export const { Empty } = empty;
export type Empty = InstanceType<typeof Empty>;
