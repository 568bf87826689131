/**
 * `npm run test:portable`: tests the npm package as users install it, on Linux, macOS and Windows. Installs
 * the tarball into a new folder, and runs the emulator, the responder, the clients, the command line, and a
 * program for each provider (with the `pulumi` on PATH). Uses only Node's own modules, and no shell. Packs a
 * tarball unless TARBALL_FOLDER has one: with a tarball, this runs even in a clone without set-up.
 */
import assert from "node:assert/strict";
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, readdir, realpath, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import process from "node:process";
import { createInterface } from "node:readline";
import { text as readText } from "node:stream/consumers";
import { setTimeout as delay } from "node:timers/promises";
import type * as clients from "../../provider/client/index.ts";
import { signalIfAlive } from "../../tools/lib/processes.ts";
import packageJson from "../../package.json" with { type: "json" };

const isWindows = process.platform === "win32";
const platform = `${process.platform} ${process.arch}, Node ${process.versions.node}`;
const repository = resolve(import.meta.dirname, "../..");
const PROGRAM = "node_modules/pulumi-apichat/dist/provider/cli/main.js";
const KEY = "a-key-that-nobody-guesses";

// The path contains a space, as paths on Windows do if the user's name contains one.
const folder = await realpath(await mkdtemp(join(tmpdir(), "apichat portable-")));
const own = Object.entries(process.env).filter(([name]) => !/^(PULUMI|APICHAT)_/.test(name));
const env: NodeJS.ProcessEnv = {
  ...Object.fromEntries(own),
  APICHAT_VERIFICATION_KEY: KEY,
  PULUMI_BACKEND_URL: `file://${folder.replaceAll("\\", "/")}`,
  PULUMI_CONFIG_PASSPHRASE: "portable",
  PULUMI_HOME: join(folder, "home"),
  PULUMI_SKIP_UPDATE_CHECK: "true",
};
const running = new Set<ChildProcess>();
for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.on(signal, () => {
    process.exitCode = 130;
    for (const child of running) endTree(child);
  });
}

try {
  await main();
  console.log(`passed on ${platform}`);
} catch (error) {
  const reason = process.exitCode === 130 ? "interrupted" : (error as Error).message;
  console.error(`FAILED on ${platform}: ${reason}`);
  process.exitCode ??= 1;
} finally {
  for (const child of running) endTree(child);
  while (running.size > 0) await delay(20);
  await rm(folder, { recursive: true, force: true, maxRetries: 10 });
}

async function main(): Promise<void> {
  console.log(`pulumi ${(await pulumi(folder, "version")).trim()}`);
  const tarball = await findTarball(process.env["TARBALL_FOLDER"] ?? join(folder, "packed"));
  console.log(`npm install ${tarball}`);
  await writeFile(join(folder, "package.json"), '{ "private": true }');
  const sdk = `@pulumi/pulumi@${packageJson.devDependencies["@pulumi/pulumi"]}`;
  await npm(folder, "install", "--prefer-offline", "--no-audit", "--no-fund", tarball, sdk);
  assert.match(await npm(folder, "exec", "--offline", "--", "apichat", "--version"), /^\d/m);

  console.log("apichat emulator, responder and verify");
  const { line: started } = await listen("emulator", "--json", "--port=0", "--bot-port=0");
  const { page, workspaces } = JSON.parse(started) as { page: string; workspaces: Record<string, string>[] };
  const [{ baseUrl = "", apiKey = "", botUrl = "", flowApiKey = "" } = {}] = workspaces;
  Object.assign(env, { APICHAT_BASE_URL: baseUrl, APICHAT_API_KEY: apiKey });
  assert.equal((await fetch(page)).status, 200, "the emulator's page");
  const dataDir = join(folder, "data");
  const settings = { port: 0, dataDir, workspaces: { acme: { verificationKeys: KEY } } };
  await writeFile(join(folder, "responder.json"), JSON.stringify(settings), { mode: 0o600 });
  const responder = await listen("responder", "--config=responder.json");
  const webhookUrl = `http://127.0.0.1:${(JSON.parse(responder.line) as { port: number }).port}/acme`;
  await apichat("verify", webhookUrl);

  console.log("the clients: a registration, a message, its reply");
  const require = createRequire(join(folder, "index.js"));
  const { MessageClient, RegistrationClient } = require("pulumi-apichat/client") as typeof clients;
  const client = new RegistrationClient({ baseUrl, apiKey });
  await client.setWebhook({ webhookUrl, webhookVerificationKey: KEY });
  const message = { sender: { id: "7", name: "Ana" }, conversationId: 1, text: "Where is my parcel?" };
  await new MessageClient({ botUrl, flowApiKey }).sendText(message);
  const kept = ["responder", "deliveries", "--data-dir", dataDir, "--json"];
  while (!(await apichat(...kept)).includes(message.text)) await delay(100);
  await client.deleteWebhook();

  for (const [name, files] of Object.entries(programsOf(webhookUrl))) {
    console.log(`pulumi up and destroy of a program in ${name}`);
    const program = join(folder, name);
    await mkdir(program);
    for (const [file, text] of Object.entries(files)) await writeFile(join(program, file), text);
    await pulumi(program, "stack", "init", "dev");
    await pulumi(program, "up", "--yes", "--skip-preview");
    assert.equal((await client.getWebhook())?.webhookUrl, webhookUrl);
    assert.match(await pulumi(program, "stack", "output", "status"), /verified/);
    await pulumi(program, "destroy", "--yes", "--skip-preview");
    assert.equal(await client.getWebhook(), undefined);
  }
  // Not on Windows, where a signal would end the process at once, without a clean exit.
  if (isWindows) return;
  responder.child.kill("SIGTERM");
  assert.deepEqual(await once(responder.child, "exit"), [0, null], "the responder after SIGTERM");
}

/** Two programs: a CommonJS module with the dynamic provider, and a YAML program with the plugin. */
function programsOf(webhookUrl: string): Record<string, Record<string, string>> {
  const nodejs = {
    "package.json": '{ "main": "index.js" }',
    "Pulumi.yaml": "name: nodejs\nruntime: nodejs\n",
    "index.js": `const { ApiChatWebhook } = require("pulumi-apichat");
const args = { webhookUrl: "${webhookUrl}", webhookVerificationKey: "${KEY}" };
exports.status = new ApiChatWebhook("webhook", args).status;`,
  };
  const properties = { webhookUrl, webhookVerificationKey: KEY };
  const project = {
    name: "yaml",
    runtime: "yaml",
    packages: { apichat: "../node_modules/pulumi-apichat/plugin" },
    resources: { webhook: { type: "apichat:ApiChatWebhook", properties } },
    outputs: { status: "${webhook.status}" },
  };
  // JSON is YAML.
  return { nodejs, yaml: { "Pulumi.yaml": JSON.stringify(project) } };
}

async function findTarball(where: string): Promise<string> {
  await mkdir(where, { recursive: true });
  const find = async () => (await readdir(where)).find((name) => name.endsWith(".tgz"));
  if ((await find()) === undefined) {
    console.log("npm pack");
    await npm(repository, "pack", "--pack-destination", resolve(where));
  }
  return join(resolve(where), (await find()) ?? "");
}

/**
 * Runs npm by the path of its script, because on Windows only a shell can run `npm`. The script's path is in a
 * variable that npm sets for this program.
 */
function npm(cwd: string, ...args: string[]): Promise<string> {
  const { npm_execpath: program } = process.env;
  assert(program, "run this as npm run test:portable");
  return run(process.execPath, [program, ...args], cwd);
}

async function pulumi(cwd: string, ...args: string[]): Promise<string> {
  return run("pulumi", [...args, "--non-interactive", "--color=never"], cwd).catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    throw new Error("pulumi is not on PATH; to install it, see https://www.pulumi.com/docs/install/");
  });
}

function apichat(...args: string[]): Promise<string> {
  return run(process.execPath, [PROGRAM, ...args], folder);
}

/** Runs a command, and returns its stdout. If it fails, throws an error that contains its whole output. */
async function run(...command: Parameters<typeof start>): Promise<string> {
  const child = start(...command);
  const [[code], output, errors] = await Promise.all([
    once(child, "close"),
    readText(child.stdout),
    readText(child.stderr),
  ]);
  assert.equal(code, 0, `${child.spawnargs.join(" ")} ended with ${code}:\n${errors}${output}`);
  return output;
}

/** Starts a long-running command, and waits for its first line of output. */
async function listen(...args: string[]): Promise<{ child: ChildProcess; line: string }> {
  const child = start(process.execPath, [PROGRAM, ...args], folder);
  const input = args.includes("--json") ? child.stdout : child.stderr;
  const first = once(createInterface({ input }), "line") as Promise<[string]>;
  const ended = once(child, "exit").then(() => assert.fail(`apichat ${args[0]} has ended`));
  const [line] = await Promise.race([first, ended]);
  return { child, line };
}

/**
 * Starts a command in its own process group, so that all its processes can be ended together. Not on Windows: a
 * group would open a console there, and is not needed, because taskkill finds the processes.
 */
function start(command: string, args: string[], cwd: string) {
  const child = spawn(command, args, { cwd, env, detached: !isWindows, windowsHide: true });
  running.add(child);
  for (const event of ["error", "exit"]) child.once(event, () => running.delete(child));
  child.stdin.end();
  return child;
}

/** Ends a process and everything that it has started. */
function endTree({ pid }: ChildProcess): void {
  if (pid === undefined) return;
  if (isWindows) spawn("taskkill", ["/pid", String(pid), "/T", "/F"]);
  else signalIfAlive(-pid, "SIGKILL");
}
