import { count } from "../render/wording.js";

/** Shows what the provider says, such as a warning, once for all workspaces of which it says the same. */
export class NoteBook {
  readonly #say: (line: string) => void;
  /** How often each text came, without the name before it. */
  readonly #times = new Map<string, number>();

  constructor(say: (line: string) => void) {
    this.#say = say;
  }

  /** `text` is the line without the name of its resource. */
  take(line: string, text = line): void {
    const times = this.#times.get(text) ?? 0;
    this.#times.set(text, times + 1);
    if (times === 0) this.#say(line);
  }

  /** Says how often each came again. */
  end(): void {
    for (const [text, times] of this.#times) {
      if (times > 1) this.#say(`${count(times - 1, "more time")}: ${text}`);
    }
    this.#times.clear();
  }
}
