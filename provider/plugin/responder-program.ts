import { parseArgs } from "node:util";
import { ApiChatError, renderFailure } from "../errors/index.js";
import { serveUntilSignal } from "../server/index.js";

/** Runs a responder as `apichat responder` does. Exits with 0 if the responder was stopped, or with 1 if it failed. */
export async function runResponder(words: readonly string[]): Promise<never> {
  process.exit(await serve(words).then(() => 0, reportFailure));
}

async function serve(words: readonly string[]): Promise<void> {
  const options = { config: { type: "string" }, instance: { type: "string" } } as const;
  const { config, instance } = parseArgs({ args: [...words], options }).values;
  if (config === undefined) throw new Error("responder needs --config <file>");
  await serveUntilSignal({ configFile: config, instance });
}

/** Prints the error for the plugin, which quotes it with the keys redacted. */
function reportFailure(error: unknown): number {
  const isOurs = error instanceof ApiChatError;
  const text = isOurs ? renderFailure(error, "command_line") : (error as Error).message;
  process.stderr.write(`error: ${text}\n`);
  return 1;
}
