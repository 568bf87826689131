import { StepError } from "./shell.ts";

const resourceLine = /^\s*[-+~]+\s+\S*ApiChatWebhook (\S+) (created|updated|deleted) \([^)]*\)(.*)$/gm;

/** One webhook's line in the output of `up`, `refresh` or `destroy`. */
export interface ResourceLine {
  name: string;
  operation: string;
  /** For example `[diff: ~webhookUrl]`. */
  diff: string;
}

/** The webhooks that a command says it has created, updated or deleted, by name. */
export function readResourceLines(output: string): ResourceLine[] {
  const lines = [...output.matchAll(resourceLine)].map(([, name = "", operation = "", diff = ""]) => ({
    name,
    operation,
    diff: diff.trim(),
  }));
  return lines.toSorted((left, right) => left.name.localeCompare(right.name));
}

/** The first line that holds this text, trimmed. */
export function findLine(output: string, text: string): string | undefined {
  return output
    .split("\n")
    .find((line) => line.includes(text))
    ?.trim();
}

/** What the examples export. */
export interface Outputs {
  bot_url: Record<string, string>;
  status: Record<string, string>;
}

/** What `pulumi stack output --json` printed. */
export function readOutputs(output: string): Outputs {
  try {
    return JSON.parse(output) as Outputs;
  } catch (error) {
    throw new StepError(`pulumi stack output --json printed no JSON: ${String(error)}`, output);
  }
}

/** Stops the run if what it is about to say is not so. */
export function confirm(claim: string, holds: boolean, output = ""): void {
  if (!holds) throw new StepError(`This should be so, and is not: ${claim}`, output);
}
