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
      command.option(`${flag} <url>`, `${what} (env: ${variable})`);
      continue;
    }
    const { label, fileFlag, variable } = SECRETS[kind];
    command.option(`${fileFlag} <file>`, `file that holds the ${label} (env: ${variable})`);
    command.addOption(refuseAsArgument(SECRETS[kind]));
  }
  return command.option("--credentials <file>", `file of several credentials (env: ${FILE_VARIABLE})`);
}

/** An option that would hold the secret itself, where other users could see it. It exists only to point to the alternatives. */
function refuseAsArgument(source: SecretSource): Option {
  const flag = source.fileFlag.replace(/-file$/, "");
  return new Option(`${flag} <key>`).hideHelp().argParser(() => {
    throw new UsageError(
      `${flag} is not supported, because other users could see its value; ${howToGive(source)}`,
    );
  });
}

export const howToGive = ({ variable, fileFlag }: SecretSource): string =>
  `set ${variable}, or name a file that holds it: ${fileFlag} <file>`;

/** Part of the help of a command with credentials. */
export const CREDENTIALS_HELP = `
Each value comes from its option (for a secret, the file it names), else from its environment variable, else from the
--credentials file. A secret that is still missing is prompted for, without echo. No option takes a secret itself,
because other users could see it. The --credentials file is YAML or JSON with any of these fields; make it readable only
by you (chmod 600):
  { "baseUrl": …, "apiKey": …, "botUrl": …, "flowApiKey": …, "verificationKey": … }
`;
