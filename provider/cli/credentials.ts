import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { type Command, Option } from "commander";
import { commandLine } from "../errors/index.js";
import { warningOfMode } from "../lib/files.js";
import { botCodeOf, formatUrl, isSameUrl, problemOfUrl } from "../lib/url.js";
import { jsonOrText, problemOfSecret } from "../lib/values.js";
import { askSecret } from "./confirm.js";
import { warn } from "./output.js";
import { UsageError } from "./usage-error.js";

const USE_KEY = "copy only the key, exactly as the endpoint uses it";

interface SecretSource {
  label: string;
  /** The option that names the file. */
  fileFlag: string;
  variable: string;
  /** How to fix a malformed secret. */
  hint: string;
}

/** `fileOption`: the property of commander's options object that contains the file's path. */
const SECRETS = {
  apiKey: {
    label: "API key",
    fileOption: "apiKeyFile",
    fileFlag: "--api-key-file",
    variable: "APICHAT_API_KEY",
    hint: "copy it again from the platform's support",
  },
  flowApiKey: {
    label: "API key of the flow",
    fileOption: "flowApiKeyFile",
    fileFlag: "--flow-api-key-file",
    variable: "APICHAT_FLOW_API_KEY",
    hint: "copy it again from the platform",
  },
  verificationKey: {
    label: "verification key",
    fileOption: "keyFile",
    fileFlag: "--key-file",
    variable: "APICHAT_VERIFICATION_KEY",
    hint: USE_KEY,
  },
  earlierKey: {
    label: "earlier verification key",
    fileOption: "earlierKeyFile",
    fileFlag: "--earlier-key-file",
    variable: "APICHAT_EARLIER_VERIFICATION_KEY",
    hint: USE_KEY,
  },
} as const satisfies Record<string, SecretSource & { fileOption: string }>;

type SecretKind = keyof typeof SECRETS;

const ADDRESSES = {
  baseUrl: {
    label: "base URL",
    what: "address of the workspace's registration interface",
    flag: "--base-url",
    variable: "APICHAT_BASE_URL",
    example: "https://platform.example/acme/apichat",
  },
  botUrl: {
    label: "bot URL",
    what: "URL to which the workspace's messages are sent; get-webhook and set-webhook return it",
    flag: "--bot-url",
    variable: "APICHAT_BOT_URL",
    example: "https://bots.example/api/apichat/f0123",
  },
} as const;

type AddressKind = keyof typeof ADDRESSES;

/** The options that {@link addCredentialOptions} adds, as commander returns them. */
export type CredentialOptions = Partial<
  Record<AddressKind | (typeof SECRETS)[SecretKind]["fileOption"], string>
>;

/** Adds the options for these credentials. */
export function addCredentialOptions(
  command: Command,
  kinds: readonly (SecretKind | AddressKind)[],
): Command {
  for (const kind of kinds) {
    if (kind === "baseUrl" || kind === "botUrl") {
      const { flag, what, variable } = ADDRESSES[kind];
      command.option(`${flag} <url>`, `${what} (env: ${variable})`);
      continue;
    }
    const { label, fileFlag, variable } = SECRETS[kind];
    command.option(`${fileFlag} <file>`, `file that contains the ${label} (env: ${variable})`);
    command.addOption(rejectAsArgument(SECRETS[kind]));
  }
  return command;
}

/** Rejects the secret itself as an argument, because other users could see it. The error names the alternatives. */
function rejectAsArgument(source: SecretSource): Option {
  const flag = source.fileFlag.replace(/-file$/, "");
  return new Option(`${flag} <key>`).hideHelp().argParser(() => {
    throw new UsageError(
      `${flag} is not supported, because other users could see its value; ${howToGive(source)}`,
    );
  });
}

const howToGive = ({ variable, fileFlag }: SecretSource): string =>
  `set ${variable}, or name a file that contains it: ${fileFlag} <file>`;

export const CREDENTIALS_HELP = `
Where the credentials come from: apichat help credentials.
`;

/**
 * The credentials for one run of a command, from its options, else from the environment. A malformed credential is
 * rejected with a UsageError that does not contain it.
 */
export class Credentials {
  readonly #options: CredentialOptions;

  constructor(options: CredentialOptions) {
    this.#options = options;
  }

  /** Returns the secret. If no source has it, prompts for it; without a terminal, throws a UsageError. */
  async secret(kind: SecretKind): Promise<string> {
    const found = await this.findSecret(kind);
    if (found !== undefined) return found;
    const { label } = SECRETS[kind];
    if (!process.stdin.isTTY) {
      const more = kind === "apiKey" ? fromProject(kind, SECRETS[kind]) : "";
      throw new UsageError(`the ${label} is missing; ${howToGive(SECRETS[kind])}${more}`);
    }
    const question = `${label.charAt(0).toUpperCase()}${label.slice(1)} (not shown): `;
    return requireValid(SECRETS[kind], `the ${label}`, await askSecret(question));
  }

  /** Returns the secret if a source has it. Never prompts. */
  async findSecret(kind: SecretKind): Promise<string | undefined> {
    const source = SECRETS[kind];
    return readGiven(source, this.#options[source.fileOption]);
  }

  /** Returns the address. Throws a UsageError if no source has it. */
  address(kind: AddressKind): string {
    const found = this.findAddress(kind);
    if (found !== undefined) return found;
    const { label, flag, variable, example } = ADDRESSES[kind];
    const more = kind === "baseUrl" ? fromProject(kind, ADDRESSES[kind]) : "";
    throw new UsageError(
      `the ${label} is missing; pass ${flag} or set ${variable}, for example to ${example}${more}`,
    );
  }

  findAddress(kind: AddressKind): string | undefined {
    const { label, variable, example } = ADDRESSES[kind];
    const url = this.#options[kind] ?? (process.env[variable] || undefined);
    if (url === undefined) return undefined;
    const problem = problemOfUrl(url, example);
    if (problem !== undefined) throw new UsageError(`the ${label}: ${problem}`);
    if (kind === "botUrl") rejectBaseUrl(url, this.findAddress("baseUrl"));
    return url;
  }
}

/** A hint on how to read a setting from the Pulumi project in this folder; empty if there is no project. */
const fromProject = (setting: "baseUrl" | "apiKey", { variable }: { variable: string }): string =>
  existsSync("Pulumi.yaml")
    ? `. This folder's project may contain it; run: export ${variable}="$(pulumi config get apichat:${setting})"`
    : "";

/** Reads a secret from the file that an option names, else from the environment. Warns if others can read the file. */
export async function readGiven(source: SecretSource, path: string | undefined): Promise<string | undefined> {
  const { label, fileFlag, variable } = source;
  const given = process.env[variable];
  if (path === undefined) return given ? requireValid(source, variable, given) : undefined;
  const text = await readFile(path, "utf8").catch((error: Error) => {
    throw new UsageError(`${fileFlag}: ${error.message}; name a file that contains only the ${label}`);
  });
  const warning = warningOfMode(path, `the ${label}`);
  if (warning !== undefined) warn(warning);
  // A real key may happen to parse as a JSON number or word, but never as a list or an object.
  if (/^\s*[[{]/.test(text) && typeof jsonOrText(text) === "object")
    throw new UsageError(`${fileFlag}: ${path} contains JSON; name a file that contains only the ${label}`);
  return requireValid(source, `the ${label} in ${path}`, text.replace(/\r?\n$/, ""));
}

function requireValid({ hint }: SecretSource, name: string, secret: string): string {
  const problem = problemOfSecret(secret, hint);
  if (problem !== undefined) throw new UsageError(`${name}: ${problem}`);
  return secret;
}

/** A base URL and a bot URL are easily mixed up: both come from the service, and both contain "apichat". */
function rejectBaseUrl(botUrl: string, baseUrl: string | undefined): void {
  const isBaseUrl = baseUrl !== undefined && isSameUrl(botUrl, baseUrl);
  if (!isBaseUrl && botCodeOf(botUrl) !== "apichat") return;
  const { flag, variable, example } = ADDRESSES.botUrl;
  throw new UsageError(
    `the bot URL: ${formatUrl(botUrl)} is a base URL, which accepts no messages; set ${flag} or ${variable} to ` +
      `the bot URL, which ends in the bot's code, for example ${example}; ${commandLine()} webhook get prints it`,
  );
}
