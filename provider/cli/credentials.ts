import { readFile } from "node:fs/promises";
import { createInterface } from "node:readline";
import { Writable } from "node:stream";
import { checkSecret, checkUrl } from "../lib/checks.js";
import { warningOfMode } from "../lib/files.js";
import { botCodeOf, isSameUrl, printUrl } from "../lib/url.js";
import {
  ADDRESSES,
  type AddressKind,
  type CredentialOptions,
  FILE_VARIABLE,
  howToGive,
  type SecretKind,
  SECRETS,
  type SecretSource,
} from "./credential-options.js";
import { warn } from "./output.js";
import { UsageError } from "./usage-error.js";

/** What a file of credentials holds. */
type CredentialsFile = Partial<Record<SecretKind | AddressKind, string>>;

/** The credentials of one run of a command. Malformed ones are thrown as a UsageError, and nothing of them is shown. */
export interface Credentials {
  /** The secret; prompts for it if no source has it. Throws a UsageError if there is no terminal. */
  secret(kind: SecretKind): Promise<string>;
  /** The secret if something gives it. Nobody is asked. */
  findSecret(kind: SecretKind): Promise<string | undefined>;
  /** The address. Throws a UsageError where nothing gives it. */
  address(kind: AddressKind): Promise<string>;
  findAddress(kind: AddressKind): Promise<string | undefined>;
  /** What gives the address, as people know it: its flag, its variable or the credentials file. */
  sourceOf(kind: AddressKind): string;
}

/** Reads credentials where the options, the environment and the file of credentials name them, in this order. */
export function openCredentials(options: CredentialOptions, onInterrupt: () => void): Credentials {
  let file: Promise<CredentialsFile> | undefined;
  const readFileOnce = (): Promise<CredentialsFile> => (file ??= readNamedFile(options));
  const findSecret = async (kind: SecretKind): Promise<string | undefined> => {
    const found = await findGiven(SECRETS[kind], options);
    return found ?? requireSound(SECRETS[kind], (await readFileOnce())[kind], "the credentials file");
  };
  const findSound = async (kind: AddressKind): Promise<string | undefined> =>
    findGivenAddress(kind, options) ?? requireUrl(kind, (await readFileOnce())[kind]);
  const findAddress = async (kind: AddressKind): Promise<string | undefined> => {
    const found = await findSound(kind);
    if (kind === "botUrl" && found !== undefined) refuseBaseUrl(found, await findSound("baseUrl"));
    return found;
  };
  return {
    findSecret,
    findAddress,
    sourceOf: (kind) => sourceOfAddress(kind, options),
    secret: async (kind) => (await findSecret(kind)) ?? ask(SECRETS[kind], onInterrupt),
    address: async (kind) => (await findAddress(kind)) ?? failForMissingAddress(kind),
  };
}

/** Reads the file of credentials (YAML or JSON), and warns if others can read it. Throws `invalid_config`. */
async function readNamedFile({ credentials }: CredentialOptions): Promise<CredentialsFile> {
  const path = credentials ?? (process.env[FILE_VARIABLE] || undefined);
  if (path === undefined) return {};
  // Loaded here, because few runs need YAML.
  const [{ readYamlFile }, z] = await Promise.all([import("../lib/yaml-file.js"), import("zod")]);
  const fields = [...Object.keys(SECRETS), ...Object.keys(ADDRESSES)];
  const shape = z.strictObject(Object.fromEntries(fields.map((field) => [field, z.string().optional()])));
  const found = await readYamlFile(path, shape);
  warnOfMode(path, "credentials");
  return found;
}

function warnOfMode(path: string, what: string): void {
  const warning = warningOfMode(path, what);
  if (warning !== undefined) warn(warning);
}

/** The secret from its file or its variable. */
async function findGiven(source: SecretSource, options: CredentialOptions): Promise<string | undefined> {
  const { label, fileOption, fileFlag, variable } = source;
  const path = options[fileOption];
  if (path !== undefined) {
    return requireSound(source, await readSecretFile(path, fileFlag, "key"), `the ${label} in ${path}`);
  }
  return requireSound(source, process.env[variable] || undefined, variable);
}

/** Reads a file that holds one secret, less the line break at its end, and warns if others can read it. */
export async function readSecretFile(path: string, flag: string, what: "key" | "token"): Promise<string> {
  try {
    const text = await readFile(path, "utf8");
    warnOfMode(path, `a ${what}`);
    return text.replace(/\r?\n$/, "");
  } catch (error) {
    throw new UsageError(`${flag}: ${(error as Error).message}; name a file that holds the ${what} alone`);
  }
}

async function ask(source: SecretSource, onInterrupt: () => void): Promise<string> {
  const { label } = source;
  if (!process.stdin.isTTY) throw new UsageError(`the ${label} is missing; ${howToGive(source)}`);
  const question = `${label.charAt(0).toUpperCase()}${label.slice(1)} (not shown): `;
  const terminal = { input: process.stdin, output: process.stderr };
  const typed = (await askSecret(question, terminal, onInterrupt)) ?? "";
  return requireSound(source, typed, `the ${label}`);
}

function requireSound<T extends string | undefined>({ hint }: SecretSource, secret: T, name: string): T {
  const [failure] = secret === undefined ? [] : checkSecret(name, secret, hint);
  if (failure !== undefined) throw new UsageError(failure.reason);
  return secret;
}

function findGivenAddress(kind: AddressKind, options: CredentialOptions): string | undefined {
  return requireUrl(kind, options[kind] ?? (process.env[ADDRESSES[kind].variable] || undefined));
}

function requireUrl<T extends string | undefined>(kind: AddressKind, url: T): T {
  const { label, example } = ADDRESSES[kind];
  const [failure] = url === undefined ? [] : checkUrl(`the ${label}`, url, example);
  if (failure !== undefined) throw new UsageError(failure.reason);
  return url;
}

/** The two are easily mixed up: both come from the service, and both speak of apichat. */
function refuseBaseUrl(botUrl: string, baseUrl: string | undefined): void {
  const isBaseUrl = baseUrl !== undefined && isSameUrl(botUrl, baseUrl);
  if (!isBaseUrl && botCodeOf(botUrl) !== "apichat") return;
  const { flag, variable, example } = ADDRESSES.botUrl;
  throw new UsageError(
    `the bot URL: ${printUrl(botUrl)} is a base URL, which accepts no messages; set ${flag} or ${variable} to the bot's own URL, which ends in its code, such as ${example}; apichat webhook get prints it`,
  );
}

function sourceOfAddress(kind: AddressKind, options: CredentialOptions): string {
  const { flag, variable } = ADDRESSES[kind];
  if (options[kind] !== undefined) return flag;
  return process.env[variable] ? variable : "the credentials file";
}

function failForMissingAddress(kind: AddressKind): never {
  const { label, flag, variable, example } = ADDRESSES[kind];
  throw new UsageError(`the ${label} is missing; give it with ${flag} or ${variable}, such as ${example}`);
}

export interface AskOptions {
  /** A terminal. */
  input: NodeJS.ReadableStream;
  /** Where the question goes. */
  output: NodeJS.WritableStream;
}

/**
 * Asks for a secret on a terminal; what is typed is not shown. Gives undefined if the input ends without a line. Calls
 * `onInterrupt` at Ctrl-C, which a terminal without echo does not turn into a signal.
 */
export async function askSecret(
  question: string,
  { input, output }: AskOptions,
  onInterrupt: () => void,
): Promise<string | undefined> {
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
  const lines = createInterface({ input, output: nowhere, terminal: true, historySize: 0 });
  output.write(question);
  try {
    return await new Promise((resolve) => {
      lines.once("line", resolve);
      lines.once("close", () => resolve(undefined));
      lines.once("SIGINT", () => {
        onInterrupt();
        lines.close();
      });
    });
  } finally {
    lines.close();
    output.write("\n");
  }
}
