import { invalidConfig } from "../../lib/files.js";

const PREFIX = "APICHAT_BOT_URL_";

/**
 * The bot URLs of workspaces as lines `APICHAT_BOT_URL_ACME=https://…` that shells and readers of `.env`
 * files read the same way, in the order of the names and without a line break at the end. Throws
 * `invalid_config` if two names map to one variable.
 */
export function formatEnvironmentLines(botUrls: Readonly<Record<string, string>>): string {
  const names = Object.keys(botUrls).toSorted();
  rejectSameVariables(names);
  return names.map((name) => `${variableOf(name)}=${quoteValue(botUrls[name] ?? "")}`).join("\n");
}

const variableOf = (name: string): string => PREFIX + name.replace(/[^A-Za-z0-9]/g, "_").toUpperCase();

function rejectSameVariables(names: readonly string[]): void {
  const problems = [...Map.groupBy(names, variableOf)]
    .filter(([, same]) => same.length > 1)
    .map(([variable, same]) => {
      const list = same.map((name) => JSON.stringify(name)).join(", ");
      return `names: ${list} all map to the variable ${variable}; use JSON, which keeps the names`;
    });
  if (problems.length > 0) throw invalidConfig(problems);
}

/** Text without special characters of any shell. */
const PLAIN = /^[\w/:.,@%+-]*$/;

/** Shells and readers of `.env` files agree on single quotes, but not on a quote within them, so that is encoded. */
function quoteValue(url: string): string {
  const safe = url.toWellFormed().replace(/[\p{Cc}\s']/gu, encodeCharacter);
  return PLAIN.test(safe) ? safe : `'${safe}'`;
}

const encodeCharacter = (char: string): string => (char === "'" ? "%27" : encodeURIComponent(char));
