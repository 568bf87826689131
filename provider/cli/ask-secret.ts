import { createInterface } from "node:readline";
import { Writable } from "node:stream";

export interface AskOptions {
  /** A terminal. */
  input: NodeJS.ReadableStream;
  /** Where the question goes. */
  output: NodeJS.WritableStream;
}

/**
 * Asks for a secret on a terminal; what is typed is not shown. Gives undefined if the input ends without a line. Calls
 * `onInterrupt` at Ctrl-C, which a terminal without echo does not turn into a signal.
 */
export async function askSecret(
  question: string,
  { input, output }: AskOptions,
  onInterrupt: () => void,
): Promise<string | undefined> {
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
  const lines = createInterface({ input, output: nowhere, terminal: true, historySize: 0 });
  output.write(question);
  try {
    return await new Promise((resolve) => {
      lines.once("line", resolve);
      lines.once("close", () => resolve(undefined));
      lines.once("SIGINT", () => {
        onInterrupt();
        lines.close();
      });
    });
  } finally {
    lines.close();
    output.write("\n");
  }
}
