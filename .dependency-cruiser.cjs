// The layers of src, from the lowest to the highest. A file imports only from its own layer or from lower ones.
const layers = [
  ["package"],
  ["diagnostics/"],
  ["polling/"],
  ["api/"],
  ["journal/"],
  ["model/"],
  ["config/"],
  ["provider/progress/", "provider/lookup/", "provider/resource-tracker"],
  ["provider/context"],
  ["provider/absence", "provider/partial-state"],
  ["provider/object-ownership", "provider/reused-ids", "provider/warnings", "provider/shutdown"],
  ["provider/delete/", "provider/update/"],
  ["provider/create/"],
  [
    "provider/create",
    "provider/read",
    "provider/update",
    "provider/delete",
    "provider/diff",
    "provider/check",
    "provider/functions",
  ],
  ["provider/host"],
  ["provider/index"],
  ["resources/"],
  ["probe/"],
  ["cli/", "testing/", "index"],
];

const pathOf = (name) => `^src/${name}${name.endsWith("/") ? "" : "\\.ts$"}`;
const layerRules = layers.slice(0, -1).map((names, at) => ({
  name: `${names.join(", ")} imports from a higher layer`,
  severity: "error",
  from: { path: names.map(pathOf) },
  to: {
    path: layers
      .slice(at + 1)
      .flat()
      .map(pathOf),
  },
}));

module.exports = {
  forbidden: [
    { name: "cycle", severity: "error", from: {}, to: { circular: true } },
    {
      name: "the emulator shares no code with the client",
      severity: "error",
      from: { path: "^src/emulator/" },
      to: { path: "^src/", pathNot: "^src/emulator/" },
    },
    ...layerRules,
  ],
  options: {
    doNotFollow: { path: "node_modules" },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: "tsconfig.json" },
  },
};
