import { Command, Option } from "commander";
import { existsSync, readFileSync } from "node:fs";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { createRequire } from "node:module";
import { homedir } from "node:os";
import { addCredentialOptions, type CredentialOptions } from "./credential-options.js";
import { openCredentials } from "./credentials.js";
import { parseUrl } from "./option-values.js";
import { dynamicProgram } from "./init/typescript.js";
import { LANGUAGES, type Language } from "./init/languages.js";
import { ENDINGS, EXIT, print, printJson } from "./output.js";
import { type Interruption, runToExit } from "./run-command.js";
import { isLoopback, printUrl } from "../lib/url.js";
import { UsageError } from "./usage-error.js";
import { VERSION } from "../lib/version.js";

interface InitOptions extends CredentialOptions {
  language?: Language;
  webhookUrl?: string;
  json?: boolean;
}

/** The command `apichat init`: writes a Pulumi program, and prints what to do with it. It ends the process. */
export function initCommand(): Command {
  const command = new Command("init")
    .description("write a Pulumi program that registers a webhook, and print what to do next")
    .argument("[folder]", "target folder; created if needed", ".")
    .option("--webhook-url <url>", "your endpoint, which answers the handshake", parseUrl)
    .addOption(
      new Option("--language <name>", "of a program on the resource plugin").choices(Object.keys(LANGUAGES)),
    )
    .option("--json", 'print { "folder", "files", "next": [commands] }');
  return addCredentialOptions(command, ["baseUrl"])
    .addHelpText("after", HELP)
    .action((folder: string, options: InitOptions) => runToExit((run) => init(folder, options, run)));
}

const HELP = `
Without --language it writes a TypeScript program on the dynamic provider: package.json, tsconfig.json, Pulumi.yaml, index.ts
and .gitignore. With --language the program is on the resource plugin, which lies in this package too: Pulumi.yaml names its
folder, so each of these programs has a package.json for npm install.

If any of the files exists, it writes nothing. Without a base URL, the program is for the emulator on this machine.
Without --webhook-url, it starts its own responder, which only a service on this machine can reach. The command prompts
for nothing and sends and installs nothing.

Examples:
  $ apichat init my-webhooks
  $ apichat init my-webhooks --language python
  $ apichat init . --base-url https://platform.example/acme/apichat --webhook-url https://chat.example/webhooks/apichat
${ENDINGS}`;

async function init(folder: string, options: InitOptions, { interrupt }: Interruption): Promise<number> {
  const baseUrl = await openCredentials(options, interrupt).findAddress("baseUrl");
  const written = await writeProgram({
    folder,
    baseUrl,
    webhookUrl: options.webhookUrl,
    language: options.language,
  });
  if (options.json) printJson(written);
  else print(formatNext(written));
  return EXIT.done;
}

interface InitRequest {
  folder: string;
  /** Default: that of the emulator. */
  baseUrl: string | undefined;
  webhookUrl: string | undefined;
  /** Default: a TypeScript program on the dynamic provider. */
  language: Language | undefined;
}

interface WrittenProgram {
  /** An absolute path. */
  folder: string;
  files: string[];
  /** What to do next: commands for a shell, each of which may be several lines. */
  next: string[];
}

/**
 * Writes a Pulumi program into a folder, which is made if need be. Throws a UsageError, and writes nothing, if one of the files
 * is there already, if a URL has a query, or if the service could not reach the responder of the program.
 */
async function writeProgram({ folder: given, ...request }: InitRequest): Promise<WrittenProgram> {
  const { baseUrl = EMULATOR_URL, webhookUrl, language } = request;
  refuseQueries({ "--base-url": baseUrl, "--webhook-url": webhookUrl });
  if (webhookUrl === undefined && !isLoopback(new URL(baseUrl).hostname.replaceAll(/[[\]]/g, ""))) {
    throw new UsageError(
      `--webhook-url: is missing; ${printUrl(baseUrl)} cannot reach a responder on this machine: give the URL of your endpoint, or of a tunnel that leads to it`,
    );
  }
  const folder = resolve(given);
  const name = toProjectName(basename(folder));
  const makeProgram = language === undefined ? dynamicProgram : LANGUAGES[language];
  const { source, clone } = await findPackage();
  const { files, install } = makeProgram({ name, source, baseUrl, webhookUrl });
  const existing = Object.keys(files).filter((file) => existsSync(join(folder, file)));
  if (existing.length > 0) {
    throw new UsageError(
      `${folder} has ${existing.join(", ")} already, so nothing was written; give another folder, such as apichat init my-webhooks`,
    );
  }
  await writeAll(folder, files);
  return {
    folder,
    files: Object.keys(files),
    next: nextCommands({ folder, baseUrl, webhookUrl, install, path: clone && pathLine(clone, language) }),
  };
}

/** What was written, and the commands to paste, for people. */
const formatNext = ({ folder, files, next }: WrittenProgram): string =>
  `wrote ${files.join(", ")} in ${folder}\n\nPaste next, one after the other:\n\n${next.join("\n\n")}\n\n` +
  "npx apichat doctor shows what is missing on this machine.\n";

/** A query may hold a token, and the program's files are committed. */
function refuseQueries(urls: Record<string, string | undefined>): void {
  for (const [flag, url] of Object.entries(urls)) {
    if (!url?.includes("?")) continue;
    throw new UsageError(
      `${flag}: must have no query, which would be in clear in a file, got ${printUrl(url)}; give it without the query`,
    );
  }
}

/** What npm and Pulumi both take as a name. */
const toProjectName = (folder: string): string =>
  folder
    .toLowerCase()
    .replaceAll(/[^a-z0-9-]+/g, "-")
    .replaceAll(/^-+|-+$/g, "") || "apichat-webhooks";

/** Writes all files or none: one that is there stays as it is. */
async function writeAll(folder: string, files: Record<string, string>): Promise<void> {
  const begun: string[] = [];
  try {
    for (const name of Object.keys(files)) {
      const path = join(folder, name);
      const made = await mkdir(dirname(path), { recursive: true });
      if (made !== undefined) begun.push(made);
      await writeFile(path, "", { flag: "wx" });
      begun.push(path);
    }
    for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text);
  } catch (error) {
    await Promise.all(begun.map((path) => rm(path, { recursive: true, force: true })));
    throw error;
  }
}

interface FoundPackage {
  /** How the program's package.json refers to this package. */
  source: string;
  /** The folder of the running clone, if this is one. */
  clone?: string;
}

/**
 * How the program's package.json refers to this package: the running clone, the tarball or folder it was installed from, or the
 * registry version.
 */
async function findPackage(): Promise<FoundPackage> {
  const own = dirname(createRequire(import.meta.url).resolve("pulumi-apichat/package.json"));
  const modules = dirname(own);
  if (basename(modules) !== "node_modules") {
    const isClone = existsSync(join(own, "tools/engine"));
    return { source: `file:${own}`, ...(isClone ? { clone: own } : {}) };
  }
  const above = dirname(modules);
  // Without one, pnpm has put it there.
  const manifest = await readFile(resolve(above, "package.json"), "utf8").catch(() => "{}");
  const { dependencies, devDependencies } = JSON.parse(manifest) as Record<string, Record<string, string>>;
  const given = { ...devDependencies, ...dependencies }["pulumi-apichat"];
  const isLocal = given?.startsWith("file:");
  return { source: isLocal ? `file:${resolve(above, given?.slice("file:".length) ?? "")}` : `^${VERSION}` };
}

/** Puts a clone's `pulumi` and its Node on PATH: neither needs to be on the machine. */
function pathLine(clone: string, language: Language | undefined): string {
  const host = language === undefined || language === "typescript" ? "" : ` -- --languages ${language}`;
  const engine = `$(dirname "$(npm --prefix ${quote(clone)} run --silent engine${host})")`;
  return `export PATH="${engine}":${quote(join(clone, "node_modules/.bin"))}:"$PATH"`;
}

/** The workspace that `apichat emulator` has without options. */
const EMULATOR_URL = "http://127.0.0.1:4000/acme/apichat";
const EMULATOR_API_KEY = "acme-api-key";

/**
 * The shell commands that bring the program up, joined by `&&` so that a prompt does not take the next pasted line as its answer.
 */
function nextCommands(program: {
  folder: string;
  baseUrl: string;
  webhookUrl: string | undefined;
  install: readonly string[];
  /** Makes the commands available in a terminal that does not have them. */
  path: string | undefined;
}): string[] {
  const enter = [...(program.path === undefined ? [] : [program.path]), `cd ${quote(program.folder)}`];
  const install = program.path === undefined ? program.install : program.install.map(withWayOut);
  const prepare = [...enter, ...install];
  const key = program.webhookUrl === undefined ? [] : ["pulumi config set --secret verificationKey"];
  if (program.baseUrl !== EMULATOR_URL) {
    const login = hasBackend() ? [] : ["pulumi login"];
    const asked = ["pulumi config set --secret apichat:apiKey", ...key];
    return [chain([...prepare, ...login, "pulumi stack init dev", ...asked, "pulumi up"])];
  }
  // Its keys are test data, so the state may be in this folder, under a known passphrase.
  const backend = hasBackend()
    ? []
    : [`export PULUMI_BACKEND_URL=${quote(`file://${program.folder}`)} PULUMI_CONFIG_PASSPHRASE=test`];
  const known = `pulumi config set --secret apichat:apiKey ${EMULATOR_API_KEY}`;
  return [
    chain(prepare),
    `# In another terminal, where it stays, unless an emulator is running already:\n${chain([...enter, "npx apichat emulator"])}`,
    chain([...backend, "pulumi stack init dev", known, ...key, "pulumi up"]),
  ];
}

/** The hosts that a clone builds lack what `pulumi install` needs. */
const withWayOut = (command: string): string =>
  command === "pulumi install"
    ? `# "unknown method GeneratePackage"? See CONTRIBUTING.md#programs-in-other-languages in the clone\n${command}`
    : command;

const chain = (commands: readonly string[]): string => commands.join(" &&\n");

/** Whether Pulumi knows where stacks are, and need not ask. */
function hasBackend(): boolean {
  const { PULUMI_BACKEND_URL, PULUMI_ACCESS_TOKEN, PULUMI_HOME } = process.env;
  if (PULUMI_BACKEND_URL || PULUMI_ACCESS_TOKEN) return true;
  const path = join(PULUMI_HOME || join(homedir(), ".pulumi"), "credentials.json");
  return existsSync(path) && /"current": *"[^"]/.test(readFileSync(path, "utf8"));
}

/** One word of a POSIX shell. */
const quote = (text: string): string =>
  /^[\w\-+=:,./@%]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
