/** `npm run suite NAME`: prepares the clone for one suite of tests, and runs it. Lists the suites without a name. */
import process from "node:process";
import { abortOnSignals, runAttached, runTool } from "./lib/run.ts";

interface Suite {
  about: string;
  /** What `tools/setup.mjs` prepares in addition to the build. */
  setup?: readonly string[];
  /** The last one receives the arguments after the suite's name. */
  commands: readonly (readonly string[])[];
}

const tool = (name: string, ...args: string[]): string[] => ["node", `tools/${name}/main.ts`, ...args];
const vitest = (projects: string, ...files: string[]): string[] =>
  ["vitest", "run", "--config", "test/vitest.config.ts"].concat(
    projects.split(" ").flatMap((name) => ["--project", name]),
    files.map((file) => `test/${file}.test.ts`),
  );
const release = (folder: string): string[] =>
  tool("release", "--repository", "example-owner/example-name", "--out", folder);

const LANGUAGES = ["languages", "init", "providers", "endpoints"].map((name) => `guides/${name}`);
const SUMS = ["release-1/SHA256SUMS", "release-2/SHA256SUMS"];

/** npm keeps each Node in its cache. The install script of the package fetches the binary of this platform. */
const onNode = (line: string): Suite => ({
  about: `the tests without the engine on Node ${line}`,
  setup: ["--engine", "--languages", "yaml"],
  commands: [
    ["npm", "exec", "--yes", "--ignore-scripts=false", `--package=node@${line}`, "--", "node"].concat(
      vitest("unit unit-alone contract provider process").with(0, "node_modules/vitest/vitest.mjs"),
    ),
  ],
});

const onSdk = (version: string): Suite => ({
  about: `programs of users on the ${version} supported SDK of Pulumi`,
  setup: ["--engine", "--languages", "yaml"],
  commands: [vitest("package", "package/programs")],
});

const SUITES: Record<string, Suite> = {
  unit: { about: "the sources, without the engine: for daily work", commands: [vitest("unit unit-alone")] },
  guides: {
    about: "what pages and examples tell a reader, word for word, and the packed package",
    setup: ["--engine", "--languages", "yaml", "python"],
    commands: [vitest("guides package cloud")],
  },
  model: {
    about: "ten minutes of random sequences over the lifecycle of a webhook",
    commands: [vitest("model", "model/model")],
  },
  fuzz: {
    about: "two minutes of random bytes",
    commands: [vitest("model", "model/fuzz")],
  },
  kills: {
    about: "kill -9 of a fleet at random moments",
    setup: ["--engine"],
    commands: [vitest("nightly", "nightly/fleet-kills")],
  },
  million: {
    about: "a million deliveries through one responder; npm run suite million 200000 sends fewer",
    commands: [tool("million")],
  },
  durability: {
    about:
      "that the spool is on the disk before an acknowledgement, from a trace of its system calls; needs strace",
    commands: [vitest("nightly", "nightly/durability")],
  },
  nats: {
    about: "examples/nats with a real nats-server, which Go builds",
    commands: [vitest("nightly", "nightly/nats")],
  },
  openapi: {
    about: "schemathesis tests the emulator; needs Python",
    commands: [["node", "test/openapi/main.ts"]],
  },
  languages: {
    about: "programs and SDKs in every language; needs Go, a JDK and Maven",
    setup: ["--engine", "--languages", "yaml", "python", "go", "java"],
    commands: [tool("sdk", "--check"), vitest("guides package", ...LANGUAGES, "package/plugin-download")],
  },
  "node22.19": onNode("22.19.0"),
  node22: onNode("22"),
  node24: onNode("24"),
  node26: onNode("26"),
  "sdk-oldest": onSdk("oldest"),
  "sdk-newest": onSdk("newest"),
  release: {
    about: "builds a release twice and compares the bytes",
    setup: ["--engine"],
    commands: [release("release-1"), release("release-2"), ["diff", ...SUMS]],
  },
};

await runTool(async () => {
  const [name = "", ...args] = process.argv.slice(2);
  const suite = SUITES[name];
  if (suite === undefined) {
    const lines = Object.entries(SUITES).map(([one, { about }]) => `  ${one.padEnd(10)} ${about}`);
    console.log(["npm run suite NAME", ...lines].join("\n"));
    return name === "" ? 0 : 1;
  }
  const signal = abortOnSignals();
  // The model tests search longer in their suite than in `npm test`.
  const env = { TEST_SUITE: name };
  const setup = suite.setup ? [["node", "tools/setup.mjs", ...suite.setup]] : [];
  const last = [...(suite.commands.at(-1) ?? []), ...args];
  for (const command of [...setup, ...suite.commands.slice(0, -1), last]) {
    const exitCode = await runAttached(command, { env, signal });
    if (exitCode !== 0) return exitCode;
  }
  return 0;
});
