import type { Command } from "commander";

/** Where one secret comes from. The one table of all of them. */
function secretSource<Option extends string>(source: {
  label: string;
  /** Name of the option, as commander gives it. */
  option: Option;
  flag: string;
  variable: string;
  /** How to fix a malformed one. */
  hint: string;
}) {
  const fileOption: `${Option}File` = `${source.option}File`;
  return { ...source, fileOption, fileFlag: `${source.flag}-file` };
}

export const SECRETS = {
  apiKey: secretSource({
    label: "API key",
    option: "apiKey",
    flag: "--api-key",
    variable: "APICHAT_API_KEY",
    hint: "copy it again from the platform's support",
  }),
  flowApiKey: secretSource({
    label: "API key of the flow",
    option: "flowApiKey",
    flag: "--flow-api-key",
    variable: "APICHAT_FLOW_API_KEY",
    hint: "copy it again from the platform",
  }),
  verificationKey: secretSource({
    label: "verification key",
    option: "key",
    flag: "--key",
    variable: "APICHAT_VERIFICATION_KEY",
    hint: "give the key alone, as the endpoint has it",
  }),
};

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

type OptionName = AddressKind | SecretSource["option" | "fileOption"] | "credentials";

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
    const { label, flag, fileFlag, variable } = SECRETS[kind];
    command.option(`${fileFlag} <file>`, `file that holds the ${label}; else ${variable}`);
    command.option(`${flag} <key>`, `the ${label} itself: others can see it, so better not`);
  }
  return command.option("--credentials <file>", `file of several credentials; else ${FILE_VARIABLE}`);
}

/** Part of the help of a command with credentials. */
export const CREDENTIALS_HELP = `
A credential is taken from its flag, else from its file, else from its environment variable, else from the file
of --credentials, else a secret is asked for on the terminal, without echo. A flag is visible in the process list and
in the shell's history. A file of credentials is YAML or JSON, all fields optional, for your eyes only (chmod 600):
  { "baseUrl": …, "apiKey": …, "botUrl": …, "flowApiKey": …, "verificationKey": … }
`;
