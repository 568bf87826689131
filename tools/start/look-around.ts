import { once } from "node:events";
import { join } from "node:path";
import process from "node:process";
import type { Stage } from "./stage.ts";
import type { Terminal } from "./terminal.ts";

/** Says how to look around in another terminal, and waits until the run is ended. */
export async function lookAround(stage: Stage, terminal: Terminal, signal: AbortSignal): Promise<never> {
  const { emulator, receiver, folder } = stage;
  terminal.heading("All of it stays up until Ctrl-C. To look around, paste this into another terminal:");
  for (const [name, value] of settings(stage)) terminal.paste(`export ${name}=${value}`);
  terminal.paste(`cd ${join(folder, "workspaces")}`);
  terminal.paste("pulumi stack");
  terminal.paste("pulumi up");
  terminal.paste(
    `curl -s '${emulator.workspace("acme").baseUrl}?action=get-webhook' -H 'content-type: application/json' ` +
      `-d "{\\"ChaveApi\\":\\"$(pulumi config get apichat:apiKey)\\"}"`,
  );
  terminal.result(
    `the service is at ${emulator.url}, its bots at ${emulator.botUrl}, the receiver at ${receiver.url}`,
  );
  terminal.result(`open ${emulator.url}/_emulator/ in a browser to play the contact, and see every request`);
  // Timers and sockets of the emulator and the receiver keep the process alive.
  if (!signal.aborted) await once(signal, "abort");
  throw signal.reason;
}

/** What differs from the environment that this command was started with, as a shell reads it. */
function settings({ environment }: Stage): [string, string][] {
  const ownPath = `:${process.env["PATH"]}`;
  return Object.entries(environment)
    .filter(([name, value]) => value !== undefined && value !== process.env[name] && name !== "TMPDIR")
    .map(([name, value = ""]) =>
      name === "PATH" && value.endsWith(ownPath)
        ? [name, `"${value.slice(0, -ownPath.length)}:$PATH"`]
        : [name, `'${value}'`],
    );
}
