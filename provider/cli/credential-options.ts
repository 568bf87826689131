import { Option, type Command } from "commander";
import { UsageError } from "./usage-error.js";

/**
 * Where one secret comes from: the option that names its file, as commander gives it and as it is typed, the variable, and how
 * to fix a malformed one.
 */
export const SECRETS = {
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
    hint: "give the key alone, as the endpoint has it",
  },
} as const;

export type SecretSource = (typeof SECRETS)[SecretKind];

export type SecretKind = keyof typeof SECRETS;

/** Where one address comes from. */
export const ADDRESSES = {
  baseUrl: {
    label: "base URL",
    what: "address of the workspace's registration interface",
    flag: "--base-url",
    variable: "APICHAT_BASE_URL",
    example: "https://platform.example/acme/apichat",
  },
  botUrl: {
    label: "bot URL",
    what: "where the workspace's messages go; apichat webhook get shows it",
    flag: "--bot-url",
    variable: "APICHAT_BOT_URL",
    example: "https://bots.example/api/apichat/f0123",
  },
} as const;

export type AddressKind = keyof typeof ADDRESSES;

export const FILE_VARIABLE = "APICHAT_CREDENTIALS";

type OptionName = AddressKind | SecretSource["fileOption"] | "credentials";

/** The options that {@link addCredentialOptions} adds, as commander gives them. */
export type CredentialOptions = Partial<Record<OptionName, string>>;

/** Adds the options that give these credentials, and --credentials, which can give all. */
export function addCredentialOptions(
  command: Command,
  kinds: readonly (SecretKind | AddressKind)[],
): Command {
  for (const kind of kinds) {
    if (kind === "baseUrl" || kind === "botUrl") {
      const { flag, what, variable } = ADDRESSES[kind];
      command.option(`${flag} <url>`, `${what}; else ${variable}`);
      continue;
    }
    const { label, fileFlag, variable } = SECRETS[kind];
    command.option(`${fileFlag} <file>`, `file that holds the ${label}; else ${variable}`);
    command.addOption(refuseAsArgument(SECRETS[kind]));
  }
  return command.option("--credentials <file>", `file of several credentials; else ${FILE_VARIABLE}`);
}

/** The option that would hold the secret itself, which others could see then. It is known only to say what to use. */
function refuseAsArgument(source: SecretSource): Option {
  const flag = source.fileFlag.replace(/-file$/, "");
  return new Option(`${flag} <key>`).hideHelp().argParser(() => {
    throw new UsageError(`${flag} is no option, because others can see what it holds; ${howToGive(source)}`);
  });
}

export const howToGive = ({ variable, fileFlag }: SecretSource): string =>
  `set ${variable}, or name a file that holds it: ${fileFlag} <file>`;

/** Part of the help of a command with credentials. */
export const CREDENTIALS_HELP = `
An address is taken from its option, a secret from its file; else both from their environment variable, else from the
file of --credentials; else a secret is asked for on the terminal, without echo. No option holds a secret itself, because
others can see it. A file of credentials is YAML or JSON, all fields optional, for your eyes only (chmod 600):
  { "baseUrl": …, "apiKey": …, "botUrl": …, "flowApiKey": …, "verificationKey": … }
`;
