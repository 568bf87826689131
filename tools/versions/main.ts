/** `npm run test:versions`: tests on every line of Node that the package supports, and on the oldest SDK of Pulumi. */
import { Command, Option } from "commander";
import { execa } from "execa";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { MIN_NODE, MIN_PULUMI } from "../../provider/lib/version.ts";

/** Lines of Node; the newest version of each is tested, from npm's cache or the registry. */
const LINES = [`${MIN_NODE}.0`, "22", "24", "26"];
const PROJECTS = ["unit", "unit-alone", "contract", "provider", "process"];
const SDK = `@pulumi/pulumi ${MIN_PULUMI}`;
const NAMES = [...LINES, SDK];

const { only } = new Command("npm run test:versions --")
  .description(
    `Runs the projects ${PROJECTS.join(", ")} on Node ${LINES.join(", ")} (the newest of each line, from npm), and two programs of users ` +
      `with the engine on ${SDK}. Some minutes for each.`,
  )
  .addOption(new Option("--only <name...>", "only these").choices(NAMES).default(NAMES, "all"))
  .parse()
  .opts<{ only: string[] }>();

const failed: string[] = [];
for (const name of only) {
  console.log(`\nTesting on ${name === SDK ? SDK : `Node ${name}`}`);
  if (!(await (name === SDK ? testSdk() : testNode(name)))) failed.push(name);
}
console.log(`\npassed on ${only.filter((name) => !failed.includes(name)).join(", ") || "none"}`);
if (failed.length > 0) console.log(`FAILED on ${failed.join(", ")}`);
process.exitCode = failed.length === 0 ? 0 : 1;

/** npm keeps each Node in its cache, outside the clone. The install script of the package fetches the binary of this platform. */
function testNode(line: string): Promise<boolean> {
  const node = ["npm", "exec", "--yes", "--ignore-scripts=false", `--package=node@${line}`, "--", "node"];
  const projects = PROJECTS.flatMap((project) => ["--project", project]);
  return vitest(node, projects);
}

/** From the packed tarball, in its own project. */
function testSdk(): Promise<boolean> {
  const title = ["--testNamePattern", "with npm, up works from typescript-"];
  const test = ["--project", "package", "test/package/programs.test.ts", ...title];
  return vitest([process.execPath], test, { PULUMI_APICHAT_SDK: MIN_PULUMI });
}

/** Returns whether all tests passed. Ctrl-C reaches the tests too. */
async function vitest([command = "", ...first]: string[], args: string[], env = {}): Promise<boolean> {
  const cwd = fileURLToPath(new URL("../..", import.meta.url));
  const run = ["node_modules/vitest/vitest.mjs", "run", "--config", "test/vitest.config.ts"];
  const options = { cwd, env, stdio: "inherit", reject: false } as const;
  const { exitCode, signal } = await execa(command, [...first, ...run, ...args], options);
  if (signal) process.exit(130);
  return exitCode === 0;
}
