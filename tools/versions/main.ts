/** `npm run test:versions`: tests on every line of Node that the package supports, and on the oldest SDK of Pulumi. */
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { delimiter, join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import Table from "cli-table3";
import { MIN_NODE, MIN_PULUMI } from "../../provider/lib/version.ts";
import { withProgress } from "../lib/progress.mjs";
import { abortOnSignals, CommandError, run, runTool } from "../lib/run.ts";
import { installNode, newestOf } from "./nodes.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const logs = join(root, "node_modules", ".cache", "versions");

/** Lines of Node; the newest version of each is tested. */
const LINES = [`${MIN_NODE}.0`, "22", "24", "26"];
const PROJECTS = ["unit", "unit-alone", "contract", "provider", "process"];
const SDK = `@pulumi/pulumi ${MIN_PULUMI}`;
const NAMES = [...LINES, SDK];

const usage = `npm run test:versions -- [--only NAME ...]

Runs the projects ${PROJECTS.join(", ")} on Node ${LINES.join(", ")} (the newest of each line, from npm),
and two programs of users with the engine on ${SDK}. Some minutes for each.

  --only NAME  only this one: ${NAMES.join(", ")}
  --help       print this`;

interface Result {
  name: string;
  passed: number;
  /** The titles of the tests that failed, or why there is no result. */
  failed: string[];
  seconds: number;
}

await runTool(async () => {
  const { values } = parseArgs({
    options: { only: { type: "string", multiple: true }, help: { type: "boolean" } },
  });
  if (values.help) return console.log(usage);
  const wanted = values.only ?? NAMES;
  const unknown = wanted.find((name) => !NAMES.includes(name));
  if (unknown !== undefined) throw new Error(`--only: "${unknown}" is not one of ${NAMES.join(", ")}`);
  const signal = abortOnSignals();
  await mkdir(logs, { recursive: true });
  const results: Result[] = [];
  for (const name of wanted) {
    results.push(name === SDK ? await testSdk(signal) : await testNode(name, signal));
  }
  print(results);
  return results.every(({ failed }) => failed.length === 0) ? 0 : 1;
});
process.exit();

async function testNode(line: string, signal: AbortSignal): Promise<Result> {
  const version = await newestOf(line, signal);
  const binaries = await withProgress(`Finding Node ${version}`, () => installNode(version, signal));
  const args = PROJECTS.flatMap((project) => ["--project", project]);
  const env = { PATH: [binaries, process.env.PATH].join(delimiter) };
  return test(`Node ${version}`, { node: join(binaries, "node"), args, env, signal });
}

/** From the packed tarball, in a project of its own. */
function testSdk(signal: AbortSignal): Promise<Result> {
  const args = [
    "--project",
    "package",
    "test/package/programs.test.ts",
    "--testNamePattern",
    "with npm, up works from typescript-",
  ];
  const env = { PULUMI_APICHAT_SDK: MIN_PULUMI };
  return test(SDK, { node: process.execPath, args, env, signal });
}

interface Run {
  node: string;
  args: readonly string[];
  env: NodeJS.ProcessEnv;
  signal: AbortSignal;
}

async function test(name: string, { node, args, env, signal }: Run): Promise<Result> {
  const file = join(logs, `${name.replaceAll(/[^\w.]+/g, "-")}.json`);
  await rm(file, { force: true });
  const reporters = ["--reporter=default", "--reporter=json", `--outputFile.json=${file}`];
  const config = ["run", "--config", "test/vitest.config.ts", "--no-color", ...reporters];
  const started = performance.now();
  let files = 0;
  const output: string = await withProgress(`Testing on ${name}`, (update) =>
    run(node, [join(root, "node_modules", "vitest", "vitest.mjs"), ...config, ...args], {
      cwd: root,
      env: { ...process.env, ...env },
      signal,
      graceMs: 10_000,
      onLine: (text) => /^ [✓❯] .*\.test\.ts /.test(text) && update(`${(files += 1)} files`),
    }).catch(outputOf),
  );
  await writeFile(file.replace(/json$/, "log"), output);
  return { name, ...(await readReport(file)), seconds: (performance.now() - started) / 1000 };
}

function outputOf(error: unknown): string {
  if (error instanceof CommandError) return error.message;
  throw error;
}

interface Report {
  numPassedTests: number;
  success: boolean;
  testResults: {
    name: string;
    status: string;
    message: string;
    assertionResults: { fullName: string; status: string }[];
  }[];
}

async function readReport(file: string): Promise<Pick<Result, "passed" | "failed">> {
  const text = await readFile(file, "utf8").catch(() => "");
  if (text === "")
    return { passed: 0, failed: [`vitest wrote no report; see ${file.replace(/json$/, "log")}`] };
  const { numPassedTests: passed, success, testResults } = JSON.parse(text) as Report;
  const failed = testResults.flatMap(({ name, status, message, assertionResults }) => {
    const titles = assertionResults.filter((one) => one.status === "failed").map(({ fullName }) => fullName);
    // A file that could not be loaded has no tests.
    const problems = titles.length === 0 && status === "failed" ? [message] : titles;
    return problems.map((title) => `${name.slice(root.length)}: ${title}`);
  });
  const isUnexplained = !success && failed.length === 0;
  return {
    passed,
    failed: isUnexplained ? [`an error outside the tests; see ${file.replace(/json$/, "log")}`] : failed,
  };
}

function print(results: readonly Result[]): void {
  const table = new Table({ head: ["", "passed", "failed", "time"], style: { head: [], border: [] } });
  for (const { name, passed, failed, seconds } of results) {
    table.push([name, passed, failed.length, `${Math.round(seconds)} s`]);
  }
  for (const { name, failed } of results)
    for (const title of failed) console.log(`failed on ${name}: ${title}`);
  console.log(table.toString());
}
