import { SETTINGS } from "./settings.js";

/** Something in a stack's configuration that should be fixed, and how. It contains no values. */
interface ConfigurationWarning {
  text: string;
  hint: string;
}

const KEYS: readonly string[] = Object.values(SETTINGS).map(({ config }) => config);

const fold = (key: string): string => key.toLowerCase().replaceAll(/[_-]/g, "");

/** Returns what should be fixed: an unencrypted API key, and keys such as `apichat:baseURL`, which nothing reads. */
export const warningsOfConfiguration = (
  keys: readonly string[],
  isSecret: (key: string) => boolean,
): ConfigurationWarning[] =>
  keys.flatMap((key) => {
    const known = KEYS.find((one) => fold(one) === fold(key));
    if (known === undefined) return [];
    if (known !== key) {
      return { text: `${key} in the configuration is not read`, hint: `it is spelled ${known}` };
    }
    if (known !== SETTINGS.apiKey.config || isSecret(key)) return [];
    return {
      text: `${key} is unencrypted in the configuration`,
      hint: `run: pulumi config set --secret ${key}; then have the key replaced if the file was ever shared`,
    };
  });
