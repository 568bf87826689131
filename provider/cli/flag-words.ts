/** How people name, where they are, what the clients' errors name as a program does. */
export interface Places {
  /** Follows "Give it ". */
  apiKey: string;
  baseUrl: string;
  /** Follows "; " or ". "; undefined where nothing can be set. */
  slow: string | undefined;
}

/** As the clients' errors say it. */
const GIVE_API_KEY =
  "Give it as apiKey, as APICHAT_API_KEY, or with: pulumi config set --secret apichat:apiKey";

/** On the command line. */
const OF_FLAGS: Places = {
  apiKey: "with --api-key-file or APICHAT_API_KEY",
  baseUrl: "--base-url",
  slow: "raise --request-seconds if the service is slow",
};

/** In a list of workspaces. */
export const OF_LIST: Places = {
  ...OF_FLAGS,
  apiKey: "as apiKey or apiKeyEnv in the list, with --api-key-file or APICHAT_API_KEY",
  baseUrl: "its baseUrl in the list",
};

/** Where time limits cannot be set. */
export const OF_DOCTOR: Places = { ...OF_FLAGS, slow: undefined };

/**
 * An error of a client, in the words of the command line. Only whole phrases of ours are taken: what a service has answered
 * stays as it is.
 */
export const inFlagWords = (message: string, { apiKey, baseUrl, slow }: Places = OF_FLAGS): string =>
  message
    .replace(GIVE_API_KEY, () => `Give it ${apiKey}`)
    .replace(/(?<=[.?] )Check baseUrl/, () => `Check ${baseUrl}`)
    .replace(/; raise (timeouts\.)?requestSeconds if the service is slow/, () =>
      slow === undefined ? "" : `; ${slow}`,
    )
    .replace(
      /flowApiKeyAs(?=: must be "bearer", )|(?<=, otherwise as )flowApiKeyAs(?= says)/,
      "--flow-api-key-as",
    )
    .replace("botUrl may be outdated: read it again with getWebhook", () => BOT_URL_OUTDATED)
    .replace(/(?<=\. )Check botUrl/, "Check --bot-url")
    .replace(
      /^(warning: )?(baseUrl|webhookUrl|webhookVerificationKey)(?=:? )/,
      (_, before = "", name: string) => `${String(before)}${FLAGS[name] ?? name}`,
    );

const BOT_URL_OUTDATED = "--bot-url may be outdated: apichat webhook get shows it";

const FLAGS: Partial<Record<string, string>> = {
  baseUrl: "--base-url",
  webhookUrl: "--webhook-url",
  webhookVerificationKey: "the verification key",
};

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
