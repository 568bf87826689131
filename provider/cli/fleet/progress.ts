import { clearLine, cursorTo } from "node:readline";
import { causeOf, lineOf } from "../../fleet/failures.js";
import type { FleetEvent } from "../../fleet/options.js";
import {
  WEBHOOK_CHANGES,
  type Failure,
  type FleetAction,
  type Outcome,
  type StackReport,
} from "../../fleet/reports.js";
import { toPlainText } from "../../lib/plain-text.js";
import { count, duration } from "./document.js";

/** Lines on stderr and, on a terminal, one below them that changes. */
export class LiveLine {
  readonly #stream: NodeJS.WriteStream;
  #shown = "";

  constructor(stream: NodeJS.WriteStream) {
    this.#stream = stream;
  }

  get isTerminal(): boolean {
    return this.#stream.isTTY && process.env["TERM"] !== "dumb";
  }

  /** Prints a line that stays. Untrusted text cannot control the terminal. */
  log(text: string): void {
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

  /** Replaces the line that changes; an empty text removes it. Does nothing without a terminal. */
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

const REDRAW_MS = 500;

/** Shows the progress of a run: on a terminal in one line, otherwise with a line for each stack that ends. */
export class FleetProgress {
  readonly #screen: LiveLine;
  readonly #signal: AbortSignal;
  readonly #notes: NoteBook;
  readonly #startedAt = Date.now();
  readonly #timer: NodeJS.Timeout;
  #title = "";
  #stacks = 0;
  #workspaces = 0;
  #wave = "";
  #failures = 0;
  /** The first failure of each cause. */
  readonly #causes = new Map<string, Failure>();
  readonly #running = new Set<string>();
  readonly #ended = new Set<string>();
  readonly #seen = new Set<string>();

  constructor(screen: LiveLine, signal: AbortSignal) {
    this.#screen = screen;
    this.#signal = signal;
    this.#notes = new NoteBook((text) => screen.log(text));
    this.#timer = setInterval(() => this.#draw(), REDRAW_MS);
  }

  take(event: FleetEvent): void {
    this.#note(event);
    this.#draw();
  }

  end(): void {
    clearInterval(this.#timer);
    this.#screen.show("");
    this.#notes.end();
  }

  #note(event: FleetEvent): void {
    switch (event.type) {
      case "run-started":
        this.#begin(event);
        break;
      case "stack-started":
        this.#running.add(event.stack);
        this.#ended.delete(event.stack);
        break;
      case "stack-ended":
        this.#endStack(event.report);
        break;
      case "webhook":
        this.#seen.add(event.webhook.workspace);
        break;
      case "failure":
        this.#fail(event.failure);
        break;
      case "note":
        this.#notes.take(event.line, event.text);
        break;
      case "wave-started":
        this.#wave = `, wave ${event.wave} of ${event.waves}`;
        this.#screen.log(`wave ${event.wave} of ${event.waves}: ${count(event.stacks.length, "stack")}`);
        break;
      case "wave-ended":
        this.#screen.log(`wave ${event.wave} of ${event.waves}: ${WAVE_ENDS[event.outcome]}`);
        break;
      case "stopping":
        // After a Ctrl-C the line is there already.
        if (!this.#signal.aborted) this.#screen.log(`stopping: ${event.why}`);
        break;
    }
  }

  #begin({ action, stacks, workspaces }: Extract<FleetEvent, { type: "run-started" }>): void {
    this.#title = action;
    this.#stacks = stacks;
    this.#workspaces = workspaces;
    this.#screen.log(describeStart(action, { stacks, workspaces }));
  }

  #endStack(report: StackReport): void {
    this.#running.delete(report.stack);
    this.#ended.add(report.stack);
    if (!this.#screen.isTerminal) this.#screen.log(describeStack(report));
  }

  /** Twelve rejected keys are one text, not twelve. */
  #fail(failure: Failure): void {
    this.#failures += 1;
    const cause = causeOf(failure);
    const first = this.#causes.get(cause);
    this.#causes.set(cause, first ?? failure);
    const why = first ? `the same as ${first.workspace ?? first.stack}` : lineOf(failure);
    this.#screen.log(`failed: ${whoOf(failure)}: ${why}`);
  }

  #draw(): void {
    if (this.#title === "") return;
    const seconds = (Date.now() - this.#startedAt) / 1000;
    const parts = [
      `${this.#ended.size} of ${count(this.#stacks, "stack")} done, ${this.#running.size} in progress`,
      `${this.#seen.size} of ${count(this.#workspaces, "workspace")}`,
      ...(this.#failures > 0 ? [count(this.#failures, "failure")] : []),
      duration(Math.floor(seconds)),
    ];
    this.#screen.show(`${this.#title}${this.#wave}: ${parts.join("; ")}`);
  }
}

const WAVE_ENDS: Record<Outcome, string> = { done: "verified", failed: "failed", stopped: "stopped" };

const describeStart = (
  action: FleetAction,
  { stacks, workspaces }: { stacks: number; workspaces: number },
): string => `${action}: ${count(workspaces, "workspace")} in ${count(stacks, "stack")}`;

const whoOf = ({ workspace, stack }: Failure): string =>
  workspace === undefined ? stack : `${workspace} (${stack})`;

/** Such as `production-2-of-4: done in 3.2 s: create 3, same 12`. */
function describeStack({ stack, outcome, seconds, webhooks, failures }: StackReport): string {
  const changes = WEBHOOK_CHANGES.flatMap((change) => {
    const { length } = webhooks.filter((one) => one.change === change);
    return length > 0 ? [`${change} ${length}`] : [];
  });
  const drifted = webhooks.filter(({ drift }) => drift !== undefined).length;
  const parts = [
    ...changes,
    ...(drifted > 0 ? [`drifted ${drifted}`] : []),
    ...(failures.length > 0 ? [`failed ${failures.length}`] : []),
  ];
  return `${stack}: ${outcome} in ${duration(seconds)}${parts.length > 0 ? `: ${parts.join(", ")}` : ""}`;
}

/** Shows what the provider prints, such as a warning, once for all workspaces that share the text. */
class NoteBook {
  readonly #log: (line: string) => void;
  /** How often each text was printed, without the name before it. */
  readonly #times = new Map<string, number>();

  constructor(log: (line: string) => void) {
    this.#log = log;
  }

  /** `text` is the line without the name of its resource. */
  take(line: string, text = line): void {
    const times = this.#times.get(text) ?? 0;
    this.#times.set(text, times + 1);
    if (times === 0) this.#log(line);
  }

  /** Prints how often each was repeated. */
  end(): void {
    for (const [text, times] of this.#times) {
      if (times > 1) this.#log(`${count(times - 1, "more time")}: ${text}`);
    }
    this.#times.clear();
  }
}
