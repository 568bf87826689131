/** `npm run suite NAME`: prepares the clone for one suite of tests, and runs it. Without a name, lists the suites. */
import process from "node:process";
import { abortOnSignals, runAttached, runTool } from "./lib/run.ts";

interface Suite {
  /** What `tools/setup.mjs` prepares in addition to the build. */
  setup?: readonly string[];
  /** The last command receives the arguments after the suite's name. */
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

const WITH_YAML = ["--engine", "--languages", "yaml"];

/** Runs a Node from npm's cache. With scripts, because a script of npm's `node` package fetches the binary. */
const onNode = (line: string): Suite => ({
  setup: WITH_YAML,
  commands: [
    ["npm", "exec", "--yes", "--ignore-scripts=false", `--package=node@${line}`, "--", "node"].concat(
      vitest("unit unit-alone contract provider process").with(0, "node_modules/vitest/vitest.mjs"),
    ),
  ],
});

/** The test reads the version of the SDK from the suite's name. */
const onSdk: Suite = { setup: WITH_YAML, commands: [vitest("package", "package/programs")] };

/** CONTRIBUTING.md says what each suite tests and needs. */
const SUITES: Record<string, Suite> = {
  unit: { commands: [vitest("unit unit-alone")] },
  guides: { setup: [...WITH_YAML, "python"], commands: [vitest("guides package cloud")] },
  model: { commands: [vitest("model", "model/model")] },
  fuzz: { commands: [vitest("model", "model/fuzz")] },
  kills: { setup: ["--engine"], commands: [vitest("nightly", "nightly/fleet-kills")] },
  million: { commands: [tool("million")] },
  durability: { commands: [vitest("nightly", "nightly/durability")] },
  nats: { commands: [vitest("nightly", "nightly/nats")] },
  openapi: { commands: [["node", "test/openapi/main.ts"]] },
  languages: {
    setup: [...WITH_YAML, "python", "go", "java"],
    commands: [tool("sdk", "--check"), vitest("guides package", ...LANGUAGES, "package/plugin-download")],
  },
  "node22.19": onNode("22.19.0"),
  node22: onNode("22"),
  node24: onNode("24"),
  node26: onNode("26"),
  "sdk-oldest": onSdk,
  "sdk-newest": onSdk,
  release: { setup: ["--engine"], commands: [release("release-1"), release("release-2"), ["diff", ...SUMS]] },
};

await runTool(async () => {
  const [name = "", ...args] = process.argv.slice(2);
  const suite = SUITES[name];
  if (suite === undefined) {
    const names = Object.keys(SUITES).map((one) => `  ${one}`);
    console.log(["npm run suite NAME (CONTRIBUTING.md describes each suite):", ...names].join("\n"));
    return name === "" ? 0 : 1;
  }
  const signal = abortOnSignals();
  // The model tests read this variable: as a suite, they search longer.
  const env = { TEST_SUITE: name };
  const setup = suite.setup ? [["node", "tools/setup.mjs", ...suite.setup]] : [];
  const last = [...(suite.commands.at(-1) ?? []), ...args];
  for (const command of [...setup, ...suite.commands.slice(0, -1), last]) {
    const exitCode = await runAttached(command, { env, signal });
    if (exitCode !== 0) return exitCode;
  }
  return 0;
});
