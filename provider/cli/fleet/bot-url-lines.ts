import { invalidConfig } from "../../lib/files.js";

const PREFIX = "APICHAT_BOT_URL_";

/**
 * Formats the bot URLs of workspaces as lines `APICHAT_BOT_URL_ACME=https://…` for shells and readers of `.env` files, sorted by
 * name and without a line break at the end. Throws `invalid_config` if two names map to one variable.
 */
export function formatEnvironmentLines(botUrls: Readonly<Record<string, string>>): string {
  const names = Object.keys(botUrls).toSorted();
  refuseSameVariables(names);
  return names.map((name) => `${variableOf(name)}=${quoteValue(botUrls[name] ?? "")}`).join("\n");
}

const variableOf = (name: string): string => PREFIX + name.replace(/[^A-Za-z0-9]/g, "_").toUpperCase();

function refuseSameVariables(names: readonly string[]): void {
  const problems = [...Map.groupBy(names, variableOf)]
    .filter(([, same]) => same.length > 1)
    .map(([variable, same]) => {
      const list = same.map((name) => JSON.stringify(name)).join(", ");
      return `names: ${list} all map to the variable ${variable}; use JSON, which keeps the names`;
    });
  if (problems.length > 0) throw invalidConfig(problems);
}

/** What no shell interprets. */
const PLAIN = /^[\w/:.,@%+-]*$/;

/** Single quotes mean the same to shells and to readers of `.env` files; a quote within them does not. */
function quoteValue(url: string): string {
  const safe = url.toWellFormed().replace(/[\p{Cc}\s']/gu, encodeCharacter);
  return PLAIN.test(safe) ? safe : `'${safe}'`;
}

const encodeCharacter = (char: string): string => (char === "'" ? "%27" : encodeURIComponent(char));
