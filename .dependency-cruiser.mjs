/**
 * The rules between the rooms of the package. Imports point one way: a room imports only what stands below it
 * here. There are no cycles; a type-only import counts like any other.
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
  // What is not published, of a room whose index.ts is an entry of the package.
  "^provider/(?:client|diagnosis|emulator|responder)/internal\\.ts$",
  // What the provider process needs of a resource, and a program does not.
  "^provider/(?:handshake-responder|verification-key|webhook)/provider\\.ts$",
  // The command line of a fleet, which the fleet's entry adds.
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
      name: "doors",
      comment:
        "Modules import only the entry files of other modules; each one except index.ts says why it exists.",
      severity: "error",
      from: { path: "^provider/([^/]+)" },
      to: {
        path: "^provider/[^/]+/",
        pathNot: ["^provider/$1/", "^provider/(?:lib|pulumi)/", ...doors],
      },
    },
    {
      name: "light-program",
      comment:
        "What a Pulumi program or the engine's provider process loads, now or later, needs none of these.",
      severity: "error",
      from: { path: "^provider/(?:index|dynamic)\\.ts$" },
      to: {
        path: "^provider/(?:(?:cli|fleet|emulator|plugin)/|(?:client|diagnosis|responder|server)/index\\.ts$)",
        reachable: true,
      },
    },
    {
      name: "product-to-workshop",
      comment: "The package holds neither tools/ nor test/.",
      severity: "error",
      from: { path: "^(?:provider|schema)/" },
      to: { path: "^(?:tools|test|examples)/" },
    },
    {
      name: "tools-to-test",
      comment: "Tests test the tools and use them; what both need is in tools/lib/.",
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
