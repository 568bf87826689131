import { clearLine, cursorTo } from "node:readline";
import { causeOf, lineOf } from "../../fleet/failures.js";
import type { FleetEvent } from "../../fleet/options.js";
import type { FleetFailure, Outcome, StackReport } from "../../fleet/reports.js";
import { toPlainText } from "../../lib/plain-text.js";
import { count, duration } from "./document.js";
import { countChanges } from "./render.js";

/** Lines on stderr, and on a terminal a changing one below them. */
export class LiveLine {
  readonly #stream: NodeJS.WriteStream;
  #shown = "";

  constructor(stream: NodeJS.WriteStream) {
    this.#stream = stream;
  }

  get isTerminal(): boolean {
    return this.#stream.isTTY && process.env["TERM"] !== "dumb";
  }

  /** Prints a line that stays. Untrusted text cannot drive the terminal. */
  log(text: string): void {
    const live = this.#shown;
    this.print(`${toPlainText(text)}\n`);
    this.show(live);
  }

  /** Prints our own lines that stay, such as a table. */
  print(text: string): void {
    this.show("");
    this.#stream.write(text);
  }

  /** Replaces the changing line; an empty text removes it. Does nothing unless this is a terminal. */
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

/** Shows the progress of a run: on a terminal in one line, elsewhere with a line for each stack that ends. */
export class FleetProgress {
  readonly #screen: LiveLine;
  readonly #signal: AbortSignal;
  readonly #startedAt = Date.now();
  readonly #timer: NodeJS.Timeout;
  #run: Extract<FleetEvent, { type: "run-started" }> | undefined;
  #wave = "";
  #failures = 0;
  /** The first failure of each cause. */
  readonly #causes = new Map<string, FleetFailure>();
  readonly #running = new Set<string>();
  readonly #ended = new Set<string>();
  readonly #seen = new Set<string>();
  /** How often the provider has printed each line, without the name before it. */
  readonly #notes = new Map<string, number>();

  constructor(screen: LiveLine, signal: AbortSignal) {
    this.#screen = screen;
    this.#signal = signal;
    this.#timer = setInterval(() => this.#draw(), REDRAW_MS);
  }

  take(event: FleetEvent): void {
    const line = this.#note(event);
    if (line !== undefined) this.#screen.log(line);
    this.#draw();
  }

  end(): void {
    clearInterval(this.#timer);
    this.#screen.show("");
    for (const [text, times] of this.#notes) {
      if (times > 1) this.#screen.log(`${count(times - 1, "more time")}: ${text}`);
    }
  }

  /** Returns the line to print for an event. */
  #note(event: FleetEvent): string | undefined {
    switch (event.type) {
      case "run-started":
        this.#run = event;
        return `${event.action}: ${count(event.workspaces, "workspace")} in ${count(event.stacks, "stack")}`;
      case "stack-started":
        this.#running.add(event.stack);
        this.#ended.delete(event.stack);
        break;
      case "stack-ended":
        this.#running.delete(event.report.stack);
        this.#ended.add(event.report.stack);
        return this.#screen.isTerminal ? undefined : describeStack(event.report);
      case "webhook":
        this.#seen.add(event.webhook.workspace);
        break;
      case "failure":
        return this.#fail(event.failure);
      case "note":
        return this.#countNote(event.text ?? event.line) === 1 ? event.line : undefined;
      case "wave-started":
        this.#wave = `, wave ${event.wave} of ${event.waves}`;
        return `wave ${event.wave} of ${event.waves}: ${count(event.stacks.length, "stack")}`;
      case "wave-ended":
        return `wave ${event.wave} of ${event.waves}: ${WAVE_ENDS[event.outcome]}`;
      case "stopping":
        // After a Ctrl-C the line is already there.
        return this.#signal.aborted ? undefined : `stopping: ${event.why}`;
    }
    return undefined;
  }

  /** If the cause is the same, names the first failure instead of repeating the text. */
  #fail(failure: FleetFailure): string {
    this.#failures += 1;
    const cause = causeOf(failure);
    const first = this.#causes.get(cause);
    this.#causes.set(cause, first ?? failure);
    const { workspace, stack } = failure;
    const why = first ? `the same as ${first.workspace ?? first.stack}` : lineOf(failure);
    return `failed: ${workspace === undefined ? stack : `${workspace} (${stack})`}: ${why}`;
  }

  #countNote(text: string): number {
    const times = (this.#notes.get(text) ?? 0) + 1;
    this.#notes.set(text, times);
    return times;
  }

  #draw(): void {
    if (this.#run === undefined) return;
    const { action, stacks, workspaces } = this.#run;
    const parts = [
      `${this.#ended.size} of ${count(stacks, "stack")} done, ${this.#running.size} in progress`,
      `${this.#seen.size} of ${count(workspaces, "workspace")}`,
      ...(this.#failures > 0 ? [count(this.#failures, "failure")] : []),
      duration(Math.floor((Date.now() - this.#startedAt) / 1000)),
    ];
    this.#screen.show(`${action}${this.#wave}: ${parts.join("; ")}`);
  }
}

const WAVE_ENDS: Record<Outcome, string> = { done: "verified", failed: "failed", stopped: "stopped" };

/** Such as `production-2-of-4: done in 3.2 s: create 3, same 12`. */
function describeStack(report: StackReport): string {
  const { stack, outcome, seconds } = report;
  const counts = Object.entries(countChanges([report])).filter(([, number]) => number > 0);
  const changes = counts.map((pair) => pair.join(" ")).join(", ");
  return `${stack}: ${outcome} in ${duration(seconds)}${changes === "" ? "" : `: ${changes}`}`;
}
