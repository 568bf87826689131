import type { CheckEndpointOptions, EndpointCheck } from "../diagnosis/index.js";
import { formatUrl } from "../lib/url.js";
import { confirm, requireTerminal } from "./confirm.js";
import { paint } from "./output.js";
import { noteIfSlow } from "./run-command.js";
import { formatTable } from "./table.js";

/** Whether the endpoint may get deliveries: `--yes`, or somebody on the terminal agrees. Throws a UsageError without a terminal. */
export async function mayDeliver(
  url: string,
  { yes }: { yes?: boolean },
  signal: AbortSignal,
): Promise<boolean> {
  if (!yes) requireTerminal("verify --deliveries");
  const question = `The endpoint at ${formatUrl(url)} will take deliveries for messages of contact 7 in conversation 1. Send them? (y/N) `;
  return confirm(question, { yes, otherwise: "nothing was sent", signal });
}

/** Sends everything, and says so on stderr if that takes longer than two seconds. */
export async function playDeliveries(options: CheckEndpointOptions): Promise<EndpointCheck[]> {
  // Loaded here, because `--help` needs no HTTP client.
  const { checkEndpoint } = await import("../diagnosis/index.js");
  return noteIfSlow(
    () => `checking how ${formatUrl(options.url)} takes deliveries`,
    () => checkEndpoint(options),
  );
}

const COLOURS = { right: "green", skipped: "gray", wrong: "yellow", unsafe: "red" } as const;

/** A table of all checks, how many there are of each result, and what to fix. */
export function formatChecks(checks: readonly EndpointCheck[]): string {
  const rows = checks.map(({ result, rule, name, response }) => [result, String(rule), name, response]);
  const results = (["right", "wrong", "unsafe", "skipped"] as const)
    .map((result) => ({ result, count: checks.filter((check) => check.result === result).length }))
    .filter(({ count, result }) => count > 0 || result === "right")
    .map(({ result, count }) => paint(COLOURS[result], `${count} ${result}`));
  const hints = Map.groupBy(
    checks.filter(({ hint }) => hint !== undefined),
    ({ rule, hint }) => `rule ${rule}: ${hint}`,
  );
  const advice = [...hints].map(
    ([hint, same]) => `${hint}\n${same.map(({ name, response }) => `  ${name}: ${response}\n`).join("")}`,
  );
  if (checks.some(({ result, rule }) => result === "skipped" && rule === 6)) {
    advice.push("skipped: start the endpoint with a second key too, and pass that with --earlier-key-file\n");
  }
  const table = formatTable(["RESULT", "RULE", "CHECK", "RESPONSE"], rows, { colours: COLOURS });
  return [table, `${results.join(", ")}\n`, ...advice].join("\n");
}
