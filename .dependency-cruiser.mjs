/**
 * The import rules between the package's rooms. Imports point one way: a room imports only from the rooms
 * below it in this list. There are no cycles; a type-only import counts like any other.
 */
const storeys = [
  ["cli"],
  ["fleet", "emulator", "plugin"],
  ["handshake-responder"],
  ["verification-key", "webhook"],
  ["pulumi"],
  ["workspace-list"],
  ["server"],
  ["registration"],
  ["diagnosis"],
  ["client"],
  ["responder"],
  ["lib"],
  ["errors"],
  ["schema"],
];

/** @param {readonly string[]} names */
const folders = (names) => `^(?:provider/)?(?:${names.join("|")})/`;

/** The entry files of the modules. */
const doors = [
  "^provider/[^/]+/index\\.ts$",
  // The unpublished part of a room whose index.ts is an entry of the package.
  "^provider/(?:client|diagnosis|emulator|responder)/internal\\.ts$",
  // The part of a resource that the provider process needs and a program does not.
  "^provider/(?:handshake-responder|verification-key|webhook)/provider\\.ts$",
  // A fleet's command line, which the fleet's entry adds.
  "^provider/cli/fleet/program\\.ts$",
  "^provider/emulator/(?:names|open-points)\\.ts$",
  "^provider/registration/(?:borrow|named)\\.ts$",
  "^provider/responder/(?:key-rules|lambda|node|watch)\\.ts$",
  "^provider/server/(?:addresses|listener|remote|spool/index)\\.ts$",
];

export default {
  forbidden: [
    {
      name: "no-cycles",
      comment: "Merge two files that need each other, or move what both need into a third.",
      severity: "error",
      from: {},
      to: { circular: true },
    },
    ...storeys.slice(1).map((storey, index) => ({
      name: `upwards-from-${storey.join("-and-")}`,
      comment: "Imports point one way; what two rooms share belongs below both, mostly in lib/.",
      severity: "error",
      // This entry adds the command line to the fleet's room, and nothing in provider/ imports it.
      from: { path: folders(storey), pathNot: "^provider/fleet/entry\\.ts$" },
      to: { path: folders(storeys.slice(0, index + 1).flat()) },
    })),
    {
      name: "doors",
      comment:
        "Modules import only the entry files of other modules; each one but index.ts says why it exists.",
      severity: "error",
      from: { path: "^provider/([^/]+)" },
      to: {
        path: "^provider/[^/]+/",
        pathNot: ["^provider/$1/", "^provider/(?:lib|pulumi)/", ...doors],
      },
    },
    {
      name: "light-program",
      comment: "A Pulumi program and the engine's provider process must not load these, even indirectly.",
      severity: "error",
      from: { path: "^provider/(?:index|dynamic)\\.ts$" },
      to: {
        path: "^provider/(?:(?:cli|fleet|emulator|plugin)/|(?:client|diagnosis|responder|server)/index\\.ts$)",
        reachable: true,
      },
    },
    {
      name: "product-to-workshop",
      comment: "The package contains neither tools/ nor test/.",
      severity: "error",
      from: { path: "^(?:provider|schema)/" },
      to: { path: "^(?:tools|test|examples)/" },
    },
    {
      name: "tools-to-test",
      comment: "Tests import tools, never the reverse; code that both need is in tools/lib/.",
      severity: "error",
      from: { path: "^tools/" },
      to: { path: "^test/" },
    },
  ],
  options: {
    tsPreCompilationDeps: true,
    tsConfig: { fileName: "tsconfig.json" },
    doNotFollow: { path: ["node_modules", "^dist/"] },
    exclude: { path: "^dist/" },
  },
};
