/** `npm run suite versions`: tests on every line of Node that the package supports, and on the oldest and the newest SDK of Pulumi. */
import { Command, Option } from "commander";
import { execa } from "execa";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { MIN_NODE, MIN_PULUMI } from "../../provider/lib/version.ts";

/** Lines of Node; the newest version of each is tested, from npm's cache or the registry. */
const LINES = [`${MIN_NODE}.0`, "22", "24", "26"];
const PROJECTS = ["unit", "unit-alone", "contract", "provider", "process"];
/** By name: a version or a tag of the registry. The tests install it into projects of their own, so no lock file names it. */
const SDKS: Record<string, string> = {
  [`@pulumi/pulumi ${MIN_PULUMI}`]: MIN_PULUMI,
  "@pulumi/pulumi newest": "latest",
};
const NAMES = [...LINES, ...Object.keys(SDKS)];

const { only } = new Command("npm run suite versions --")
  .description(
    `Runs the projects ${PROJECTS.join(", ")} on Node ${LINES.join(", ")} (the newest of each line, from npm), and programs of users ` +
      `with the engine on the oldest and the newest SDK of Pulumi. Some minutes for each.`,
  )
  .addOption(new Option("--only <name...>", "only these").choices(NAMES).default(NAMES, "all"))
  .parse()
  .opts<{ only: string[] }>();

const failed: string[] = [];
for (const name of only) {
  const sdk = SDKS[name];
  console.log(`\nTesting on ${sdk ? name : `Node ${name}`}`);
  if (!(await (sdk ? testSdk(sdk) : testNode(name)))) failed.push(name);
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

/** From the packed tarball, in its own project. The registry names the newest: npm's cache may hold an older answer. */
async function testSdk(wanted: string): Promise<boolean> {
  const options = { reject: false } as const;
  const found = await execa("npm", ["view", `@pulumi/pulumi@${wanted}`, "version"], options);
  if (found.failed) {
    console.error(
      `nothing was tested: the registry does not name ${wanted}, and was asked with npm view\n${found.stderr}`,
    );
    return false;
  }
  console.log(`@pulumi/pulumi ${found.stdout}`);
  const test = ["--project", "package", "test/package/programs.test.ts"];
  return vitest([process.execPath], test, { PULUMI_APICHAT_SDK: found.stdout });
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
