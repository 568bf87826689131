/** A check's finding, in the words of the command line. */
export const inFlagWords = (message: string): string =>
  message.replace(
    /^(warning: )?(baseUrl|webhookUrl|webhookVerificationKey)(?=:? )/,
    (_, before = "", name: string) => `${String(before)}${FLAGS[name] ?? name}`,
  );

const FLAGS: Partial<Record<string, string>> = {
  baseUrl: "--base-url",
  webhookUrl: "--webhook-url",
  webhookVerificationKey: "the verification key",
};

/** As the clients' errors say it. */
const GIVE_API_KEY =
  "Give it as apiKey, as APICHAT_API_KEY, or with: pulumi config set --secret apichat:apiKey";

/** An error of a fleet, which names the options of a run as a program does. */
export const inFleetWords = (message: string): string =>
  message
    .replace(GIVE_API_KEY, "Give it as APICHAT_API_KEY, or as apiKey or apiKeyEnv in the list")
    .replace(FLEET_OPTIONS, (name) => FLEET_FLAGS[name] ?? name);

const FLEET_FLAGS: Partial<Record<string, string>> = {
  stacksAtOnce: "--stacks-at-once",
  callsPerOrigin: "--calls-per-origin",
  most429: "--most-429",
  stopAfterFailures: "--stop-after-failures",
  mostRemovals: "--most-removals",
  waveSize: "--wave-size",
};

const FLEET_OPTIONS = new RegExp(`\\b(?:${Object.keys(FLEET_FLAGS).join("|")})\\b`, "g");
