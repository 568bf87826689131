/**
 * `pulumi-resource-apichat`, which the engine starts for programs in every language. With the address of the engine it
 * serves until the engine ends, and prints its port; with `responder …` it runs a responder, because the bundle
 * contains no other program.
 */
import { setResponderCommand } from "../handshake-responder/process.js";
import { endWithStdin, findEngineAddress, printLinesWith } from "../lib/provider-process.js";
import { Engine } from "./engine.js";
import { serve } from "./server.js";

const [node = "", script = "", first = "", ...words] = process.argv;

async function main(): Promise<void> {
  if (first === "responder") {
    const { runResponder } = await import("./responder-program.js");
    return runResponder(words);
  }
  endWithStdin();
  setResponderCommand([node, script]);
  const engine = new Engine(findEngineAddress());
  printLinesWith((kind, _name, text) => engine.log(kind, text));
  const { port } = await serve(engine);
  // The engine reads this line, and nothing else.
  console.log(port);
}

main().catch((error: unknown) => {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
});
