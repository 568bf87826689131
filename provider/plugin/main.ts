/**
 * `pulumi-resource-apichat`. Started with an engine's address, it prints its own port and serves until the
 * engine exits. With `responder …`, it runs a responder: the bundle has no separate program for that.
 */
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { commandLine, setFromArchive } from "../errors/index.js";
import { setResponderCommand } from "../handshake-responder/provider.js";
import { printLinesWith } from "../lib/progress.js";
import { VERSION } from "../lib/version.js";
import { endWithStdin, findEngineAddress } from "../pulumi/provider-process.js";
import { EngineClient } from "./engine.js";
import { serve } from "./server.js";

const [node = "", script = "", first = "", ...words] = process.argv;

const describe =
  (): string => `pulumi-resource-apichat ${VERSION}: webhooks of the API Channel service, for Pulumi programs

Pulumi starts this program with the address of an engine, and reads the port that it prints. To run it by hand:

  pulumi-resource-apichat responder --config <file>   run a responder
  pulumi-resource-apichat --version                   print the version

For everything else, such as the emulator, run: ${commandLine()} --help`;

async function main(): Promise<void> {
  // Only a release archive contains the command line next to this program.
  if (existsSync(join(dirname(script), "cli"))) setFromArchive();
  if (first === "--help" || first === "-h") return console.log(describe());
  if (first === "--version") return console.log(VERSION);
  if (first === "responder") {
    const { runResponder } = await import("./responder-program.js");
    return runResponder(words);
  }
  endWithStdin();
  setResponderCommand([node, script]);
  const engine = new EngineClient(findEngineAddress());
  printLinesWith((kind, _name, text) => engine.log(kind, text));
  const { port } = await serve(engine);
  // The engine reads this line, and nothing else.
  console.log(port);
}

main().catch((error: unknown) => {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
});
