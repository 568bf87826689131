/** `npm run test:versions`: tests on every line of Node that the package supports, and on the oldest SDK of Pulumi. */
import { execa } from "execa";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { MIN_NODE, MIN_PULUMI } from "../../provider/lib/version.ts";
import { runTool } from "../lib/run.ts";

/** Lines of Node; the newest version of each is tested, from npm's cache or the registry. */
const LINES = [`${MIN_NODE}.0`, "22", "24", "26"];
const PROJECTS = ["unit", "unit-alone", "contract", "provider", "process"];
const SDK = `@pulumi/pulumi ${MIN_PULUMI}`;
const NAMES = [...LINES, SDK];

const usage = `npm run test:versions -- [--only NAME ...]

Runs the projects ${PROJECTS.join(", ")} on Node ${LINES.join(", ")} (the newest of each line, from npm),
and two programs of users with the engine on ${SDK}. Some minutes for each.

  --only NAME  only this one: ${NAMES.join(", ")}
  --help       print this`;

await runTool(async () => {
  const { values } = parseArgs({
    options: { only: { type: "string", multiple: true }, help: { type: "boolean" } },
  });
  if (values.help) return console.log(usage);
  const wanted = values.only ?? NAMES;
  const unknown = wanted.find((name) => !NAMES.includes(name));
  if (unknown !== undefined) throw new Error(`--only: "${unknown}" is not one of ${NAMES.join(", ")}`);
  const failed: string[] = [];
  for (const name of wanted) {
    console.log(`\nTesting on ${name === SDK ? SDK : `Node ${name}`}`);
    if (!(await (name === SDK ? testSdk() : testNode(name)))) failed.push(name);
  }
  console.log(`\npassed on ${wanted.filter((name) => !failed.includes(name)).join(", ") || "none"}`);
  if (failed.length > 0) console.log(`FAILED on ${failed.join(", ")}`);
  return failed.length === 0 ? 0 : 1;
});

/** npm keeps each Node in its cache, outside the clone. The install script of the package fetches the binary of this platform. */
const testNode = (line: string): Promise<boolean> =>
  vitest(
    ["npm", "exec", "--yes", "--ignore-scripts=false", `--package=node@${line}`, "--", "node"],
    PROJECTS.flatMap((project) => ["--project", project]),
  );

/** From the packed tarball, in a project of its own. */
function testSdk(): Promise<boolean> {
  const title = ["--testNamePattern", "with npm, up works from typescript-"];
  const test = ["--project", "package", "test/package/programs.test.ts", ...title];
  return vitest([process.execPath], test, { PULUMI_APICHAT_SDK: MIN_PULUMI });
}

/** Whether all of it passed. Ctrl-C reaches the tests too. */
async function vitest([command = "", ...first]: string[], args: string[], env = {}): Promise<boolean> {
  const cwd = fileURLToPath(new URL("../..", import.meta.url));
  const all = [
    ...first,
    "node_modules/vitest/vitest.mjs",
    "run",
    "--config",
    "test/vitest.config.ts",
    ...args,
  ];
  const { exitCode, signal } = await execa(command, all, { cwd, env, stdio: "inherit", reject: false });
  if (signal) process.exit(130);
  return exitCode === 0;
}
