import { clearLine, cursorTo } from "node:readline";
import { toPlainText } from "../plain-text.js";

/** Lines on stderr, and below them on a terminal one that changes. */
export class LiveLine {
  readonly #stream: NodeJS.WriteStream;
  #shown = "";

  constructor(stream: NodeJS.WriteStream) {
    this.#stream = stream;
  }

  get isTerminal(): boolean {
    return this.#stream.isTTY && process.env["TERM"] !== "dumb";
  }

  /** Prints a line that stays. Foreign texts cannot drive the terminal. */
  say(text: string): void {
    const live = this.#shown;
    this.show("");
    this.#stream.write(`${toPlainText(text)}\n`);
    this.show(live);
  }

  /** Prints lines of ours that stay, such as a table. */
  print(text: string): void {
    this.show("");
    this.#stream.write(text);
  }

  /** Replaces the line that changes; an empty one removes it. Elsewhere than on a terminal there is none. */
  show(text: string): void {
    if (!this.isTerminal || text === this.#shown) return;
    if (this.#shown !== "") {
      clearLine(this.#stream, 0);
      cursorTo(this.#stream, 0);
    }
    this.#shown = text;
    // A line that wraps could not be removed. Some terminals do not know their width.
    this.#stream.write(text.slice(0, (this.#stream.columns || 80) - 1));
  }
}
