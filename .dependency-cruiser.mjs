/**
 * The rules between the rooms of the package. Imports point one way: a room imports only what stands below it here. There
 * are no cycles; a type-only import counts like any other.
 */
const storeys = [
  ["cli"],
  ["fleet", "emulator", "plugin"],
  ["handshake-responder"],
  ["server"],
  ["workspace-list"],
  ["verification-key", "webhook"],
  ["diagnosis"],
  ["client"],
  ["responder"],
  ["lib"],
  ["errors"],
  ["schema"],
];

/** @param {readonly string[]} names */
const folders = (names) => `^(?:provider/)?(?:${names.join("|")})/`;

export default {
  forbidden: [
    {
      name: "no-cycles",
      comment: "Two files that need each other are one file, or lack a third that both import.",
      severity: "error",
      from: {},
      to: { circular: true },
    },
    ...storeys.slice(1).map((storey, index) => ({
      name: `upwards-from-${storey.join("-and-")}`,
      comment: "Imports point one way; what two rooms share belongs below both, mostly in lib/.",
      severity: "error",
      // An entry of the package adds its command line to its room, and nothing in provider/ imports it.
      from: { path: folders(storey), pathNot: "^provider/fleet/entry\\.ts$" },
      to: { path: folders(storeys.slice(0, index + 1).flat()) },
    })),
    {
      name: "responder-process-to-server",
      comment:
        "The resource reaches the server through its control client and the shape of its configuration only.",
      severity: "error",
      from: { path: "^provider/handshake-responder/" },
      to: { path: "^provider/server/", pathNot: "^provider/server/(?:control-client|config)\\.ts$" },
    },
    {
      name: "fleet-by-its-index",
      comment: "A room has one file that others import.",
      severity: "error",
      from: { path: "^provider/", pathNot: "^provider/fleet/" },
      to: { path: "^provider/fleet/", pathNot: "^provider/fleet/index\\.ts$" },
    },
    {
      name: "light-program",
      comment: "What a Pulumi program or the engine's provider process loads needs none of these.",
      severity: "error",
      from: { path: "^provider/(?:index|dynamic)\\.ts$" },
      to: { path: "^provider/(?:cli|fleet|emulator|plugin|server)/" },
    },
    {
      name: "product-to-workshop",
      comment: "The package holds neither tools/ nor test/.",
      severity: "error",
      from: { path: "^(?:provider|schema)/" },
      to: { path: "^(?:tools|test|examples)/" },
    },
  ],
  options: {
    tsPreCompilationDeps: true,
    tsConfig: { fileName: "tsconfig.json" },
    doNotFollow: { path: ["node_modules", "^dist/"] },
    exclude: { path: "^dist/" },
  },
};
