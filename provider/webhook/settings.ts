import { invalidFields, type ApiChatError } from "../errors/index.js";

/** The fallback sources of an input, and the error text if none of them provides it. */
export const SETTINGS = {
  baseUrl: {
    config: "apichat:baseUrl",
    environment: "APICHAT_BASE_URL",
    missing:
      "is missing; set the address of the workspace's registration interface with the argument baseUrl, with " +
      "pulumi config set apichat:baseUrl, or with the environment variable APICHAT_BASE_URL",
  },
  apiKey: {
    config: "apichat:apiKey",
    environment: "APICHAT_API_KEY",
    missing:
      "is missing; the platform's support issues it: set it with the argument apiKey, with " +
      "pulumi config set --secret apichat:apiKey, or with the environment variable APICHAT_API_KEY",
  },
} as const;

/** The error for an input that no source provides. `what` names the caller. */
export const settingMissing = (name: keyof typeof SETTINGS, what = ""): ApiChatError =>
  invalidFields([{ field: name, text: SETTINGS[name].missing }], { where: what });

/** Reads a value from the stack's configuration; secrets are decrypted. An empty value counts as missing. */
type ReadConfig = (key: string) => string | undefined;

export const findBaseUrl = (readConfig: ReadConfig): string | undefined =>
  readConfig(SETTINGS.baseUrl.config) || process.env[SETTINGS.baseUrl.environment] || undefined;

/** The default API keys: from the stack's configuration, then from the environment. */
export const findApiKeys = (readConfig: ReadConfig): string[] =>
  [readConfig(SETTINGS.apiKey.config), process.env[SETTINGS.apiKey.environment]].flatMap((key) => key || []);

const KEYS: readonly string[] = Object.values(SETTINGS).map(({ config }) => config);

const fold = (key: string): string => key.toLowerCase().replaceAll(/[_-]/g, "");

/** Returns what should be fixed: an unencrypted API key, and keys such as `apichat:baseURL`, which nothing reads. */
export const warningsOfConfiguration = (
  keys: readonly string[],
  isSecret: (key: string) => boolean,
): { text: string; hint: string }[] =>
  keys.flatMap((key) => {
    const known = KEYS.find((one) => fold(one) === fold(key));
    if (known === undefined) return [];
    if (known !== key) {
      return { text: `${key} in the configuration is not read`, hint: `use ${known}` };
    }
    if (known !== SETTINGS.apiKey.config || isSecret(key)) return [];
    return {
      text: `${key} is unencrypted in the configuration`,
      hint: `run: pulumi config set --secret ${key}; then have the key replaced if the file was ever shared`,
    };
  });
