import { Option, type Command } from "commander";
import { UsageError } from "./usage-error.js";

/**
 * The sources of each secret: the option that names its file, as commander gives it and as it is typed, and the variable. `hint` says
 * how to fix a malformed one.
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

type SecretSource = (typeof SECRETS)[SecretKind];

export type SecretKind = keyof typeof SECRETS;

/** The sources of each address. */
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
    what: "URL to which the workspace's messages are sent; apichat webhook get shows it",
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

/** Adds the options for these credentials, and --credentials, which can give all of them. */
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
    command.addOption(refuseAsArgument(SECRETS[kind]));
  }
  return command.option("--credentials <file>", `file of several credentials (env: ${FILE_VARIABLE})`);
}

/** An option for the secret itself, where other users could see it. It exists only to point to the alternatives. */
function refuseAsArgument(source: SecretSource): Option {
  const flag = source.fileFlag.replace(/-file$/, "");
  return new Option(`${flag} <key>`).hideHelp().argParser(() => {
    throw new UsageError(
      `${flag} is not supported, because other users could see its value; ${howToGive(source)}`,
    );
  });
}

export const howToGive = ({ variable, fileFlag }: SecretSource): string =>
  `set ${variable}, or name a file that contains it: ${fileFlag} <file>`;

/** Part of the help of a command with credentials. */
export const CREDENTIALS_HELP = `
Each value comes from its option (for a secret, the file it names), else from its environment variable, else from the
--credentials file. The command prompts for a secret that is still missing, without echo. No option takes a secret
itself, because other users could see it. The --credentials file is YAML or JSON with any of these fields; make it
readable only by you (chmod 600):
  { "baseUrl": …, "apiKey": …, "botUrl": …, "flowApiKey": …, "verificationKey": … }
`;
