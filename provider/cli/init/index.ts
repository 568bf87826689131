import { Command, Option } from "commander";
import { existsSync } from "node:fs";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { createRequire } from "node:module";
import { homedir } from "node:os";
import { fileURLToPath } from "node:url";
import { addCredentialOptions, type CredentialOptions } from "../credentials.js";
import { parseUrl } from "../option-values.js";
import {
  PROGRAM_LANGUAGES,
  LANGUAGES_WITHOUT_NPM,
  readProgram,
  type ProgramLanguage,
  type ProgramOptions,
} from "./program.js";
import { ENDINGS, EXIT, printResult } from "../output.js";
import { type CommandRun, runToExit } from "../run-command.js";
import { commandLine, isOfArchive, shellQuote } from "../../errors/index.js";
import { readFileIfExists } from "../../lib/files.js";
import { isLoopback, formatUrl } from "../../lib/url.js";
import { UsageError } from "../usage-error.js";
import { VERSION } from "../../lib/version.js";

interface InitOptions extends CredentialOptions {
  language?: ProgramLanguage;
  webhookUrl?: string;
  json?: boolean;
}

export function initCommand(): Command {
  const command = new Command("init")
    .description("write a Pulumi program that registers a webhook, and print what to do next")
    .argument("[folder]", "target folder; created if needed", ".")
    .option("--webhook-url <url>", "your endpoint, which answers the handshake", parseUrl)
    .addOption(
      new Option("--language <name>", "write the program in this language, using the resource plugin")
        .choices(isOfArchive() ? LANGUAGES_WITHOUT_NPM : Object.keys(PROGRAM_LANGUAGES))
        .default(isOfArchive() ? "python" : undefined),
    )
    .option("--json", 'print { "folder", "files", "next": [commands] }');
  return addCredentialOptions(command, ["baseUrl"])
    .addHelpText("after", () => `${isOfArchive() ? WITHOUT_NPM : WITH_NPM}${HELP}`)
    .action((folder: string, options: InitOptions) =>
      runToExit(options, (run) => init(folder, options, run)),
    );
}

const WITH_NPM = `
Without --language, the command writes a TypeScript program on the dynamic provider: package.json, tsconfig.json,
Pulumi.yaml, index.ts and .gitignore. With --language, the program uses the resource plugin, which this package also
contains. Pulumi.yaml names the folder where npm install puts the plugin, so every program has a package.json.
`;

const WITHOUT_NPM = `
The program uses the plugin that this command came with, and needs no Node. The command of the npm package
also writes programs in other languages.
`;

const HELP = `
If any of the files exists, the command writes nothing. Without a base URL, the program is for the emulator on this
machine. Without --webhook-url, the program starts its own responder, which only a service on this machine can reach.
The command never prompts, sends nothing and installs nothing.

Examples:
  $ apichat init my-webhooks
  $ apichat init my-webhooks --language python
  $ apichat init . --base-url https://platform.example/acme/apichat --webhook-url https://chat.example/webhooks/apichat
${ENDINGS}`;

/**
 * Throws a UsageError, and writes nothing, if one of the program's files exists, if a URL has a query, or if a
 * service at the base URL could not reach the program's own responder.
 */
async function init(target: string, options: InitOptions, { credentials }: CommandRun): Promise<number> {
  const { language, webhookUrl } = options;
  const baseUrl = credentials.findAddress("baseUrl") ?? EMULATOR_URL;
  rejectQuery("--base-url", baseUrl);
  rejectQuery("--webhook-url", webhookUrl);
  if (webhookUrl === undefined && !isLoopback(new URL(baseUrl).hostname)) {
    throw new UsageError(
      `--webhook-url: is missing; ${formatUrl(baseUrl)} cannot reach a responder on this machine: ` +
        "pass the URL of your endpoint, or of a tunnel that leads to it",
    );
  }
  const folder = resolve(target);
  const { own, source, clone } = await findPackage();
  // Set by the command of the Python package.
  const wheel = process.env["APICHAT_WHEEL_URL"];
  const settings = { name: toProjectName(basename(folder)), source, wheel, baseUrl, webhookUrl, language };
  const texts = await readProgram(own, settings);
  const files = Object.keys(texts);
  const existing = files.filter((file) => existsSync(join(folder, file)));
  if (existing.length > 0) {
    throw new UsageError(
      `${folder} already has ${existing.join(", ")}, so nothing was written; ` +
        `pass a different folder, for example: ${commandLine()} init my-webhooks`,
    );
  }
  for (const [name, text] of Object.entries(texts)) {
    const path = join(folder, name);
    await mkdir(dirname(path), { recursive: true });
    // An existing file is never changed.
    await writeFile(path, text, { flag: "wx" });
  }
  const next = nextCommands(folder, settings, clone);
  printResult(options, { folder, files, next }, () =>
    [
      `wrote ${files.join(", ")} in ${folder}`,
      "Next, paste these commands, one block at a time:",
      ...next,
      `${commandLine()} doctor shows what is missing on this machine.\n`,
    ].join("\n\n"),
  );
  return EXIT.done;
}

/** A query may contain a token, and the program's files are committed. */
function rejectQuery(flag: string, url = ""): void {
  if (!url.includes("?")) return;
  throw new UsageError(
    `${flag}: must have no query, because the program's files are not encrypted, got ${formatUrl(url)}; remove it`,
  );
}

/** A name that both npm and Pulumi accept. */
const toProjectName = (folder: string): string =>
  folder
    .toLowerCase()
    .replaceAll(/[^a-z0-9-]+/g, "-")
    .replaceAll(/^-+|-+$/g, "") || "apichat-webhooks";

/**
 * `source` is how the program's package.json refers to this package: the running clone, the tarball or folder
 * that it was installed from, or its version in the registry. Undefined in the plugin's archive.
 */
async function findPackage(): Promise<{ own: string; source?: string; clone?: string }> {
  if (isOfArchive()) return { own: fileURLToPath(new URL("..", import.meta.url)) };
  const own = dirname(createRequire(import.meta.url).resolve("pulumi-apichat/package.json"));
  const modules = dirname(own);
  if (basename(modules) !== "node_modules") {
    const isClone = existsSync(join(own, "tools/engine"));
    return { own, source: `file:${own}`, ...(isClone ? { clone: own } : {}) };
  }
  const above = dirname(modules);
  // The file does not exist if pnpm installed the package.
  const manifest = await readFile(resolve(above, "package.json"), "utf8").catch(() => "{}");
  const { dependencies, devDependencies } = JSON.parse(manifest) as Record<string, Record<string, string>>;
  const given = { ...devDependencies, ...dependencies }["pulumi-apichat"];
  const isLocal = given?.startsWith("file:");
  const source = isLocal ? `file:${resolve(above, given?.slice("file:".length) ?? "")}` : `^${VERSION}`;
  return { own, source };
}

/** Puts the `pulumi` and the Node of a clone on PATH, because the machine may have neither. */
function pathLine(clone: string, language: ProgramLanguage | undefined): string {
  const host = language === undefined || language === "typescript" ? "" : ` -- --languages ${language}`;
  const engine = `$(dirname "$(npm --prefix ${shellQuote(clone)} run --silent engine${host})")`;
  return `export PATH="${engine}":${shellQuote(join(clone, "node_modules/.bin"))}:"$PATH"`;
}

/** The default workspace of `apichat emulator`. */
const EMULATOR_URL = "http://127.0.0.1:4000/acme/apichat";
const EMULATOR_API_KEY = "acme-api-key";

/** The commands that deploy the program. `&&` keeps a prompt from taking the next pasted line as its answer. */
function nextCommands(
  folder: string,
  { language, source, webhookUrl, baseUrl }: ProgramOptions,
  clone: string | undefined,
): string[] {
  const enter = [...(clone === undefined ? [] : [pathLine(clone, language)]), `cd ${shellQuote(folder)}`];
  const prepare = [...enter, ...(source === undefined ? [] : ["npm install"])];
  // YAML and the dynamic provider need no SDK.
  if (language !== undefined && language !== "yaml") prepare.push(`${clone ? SDK_HINT : ""}pulumi install`);
  const isEmulator = baseUrl === EMULATOR_URL;
  const apiKey = `pulumi config set --secret apichat:apiKey${isEmulator ? ` ${EMULATOR_API_KEY}` : ""}`;
  const key = webhookUrl === undefined ? [] : ["pulumi config set --secret verificationKey"];
  const deploy = [...chooseBackend(folder, baseUrl), "pulumi stack init dev", apiKey, ...key, "pulumi up"];
  if (!isEmulator) return [chain([...prepare, ...deploy])];
  return [
    chain(prepare),
    "# In another terminal, unless your emulator is already running:\n" +
      chain([...enter, `${commandLine()} emulator`]),
    chain(deploy),
  ];
}

/** `pulumi install` may fail in a clone, because the clone's language hosts may lack this method. */
const SDK_HINT = `# "unknown method GeneratePackage"? See CONTRIBUTING.md#programs-in-other-languages in the clone\n`;

const chain = (commands: readonly string[]): string => commands.join(" &&\n");

/**
 * The command that chooses a backend, if none is chosen on this machine. The keys of a service on loopback are test
 * data, so the state may be stored in the folder, with a known passphrase.
 */
function chooseBackend(folder: string, baseUrl: string): string[] {
  const { PULUMI_BACKEND_URL, PULUMI_ACCESS_TOKEN, PULUMI_HOME } = process.env;
  const credentials = readFileIfExists(join(PULUMI_HOME || join(homedir(), ".pulumi"), "credentials.json"));
  if (PULUMI_BACKEND_URL || PULUMI_ACCESS_TOKEN || /"current": *"[^"]/.test(credentials ?? "")) return [];
  if (!isLoopback(new URL(baseUrl).hostname)) return ["pulumi login"];
  return [`export PULUMI_BACKEND_URL=${shellQuote(`file://${folder}`)} PULUMI_CONFIG_PASSPHRASE=test`];
}
