import type { FleetEvent, StackReport } from "../../fleet/index.js";
import { toPlainText } from "../../lib/plain-text.js";
import { note } from "../output.js";
import { causeOf, describeCause, lineOf } from "./failures.js";
import { count, countChanges, duration } from "./render.js";

/** While webhooks finish, the number of finished ones is printed at this interval, in milliseconds. */
const COUNT_MS = 5000;

export class FleetProgress {
  readonly #signal: AbortSignal;
  #workspaces = "";
  #printedAt = 0;
  readonly #seen = new Set<string>();
  /** The notes and causes that have been printed. Many workspaces may have the same ones. */
  readonly #printed = new Set<string>();

  constructor(signal: AbortSignal) {
    this.#signal = signal;
  }

  take(event: FleetEvent): void {
    const line = this.#describe(event);
    if (line === undefined) return;
    this.#printedAt = Date.now();
    note(toPlainText(line));
  }

  #describe(event: FleetEvent): string | undefined {
    switch (event.type) {
      case "run-started":
        this.#workspaces = count(event.workspaces, "workspace");
        return `${event.action}: ${this.#workspaces} in ${count(event.stacks, "stack")}`;
      case "stack-started":
        return `${event.stack}: ${count(event.workspaces, "workspace")}`;
      case "stack-ended":
        return describeStack(event.report);
      case "webhook":
        this.#seen.add(event.webhook.workspace);
        return Date.now() - this.#printedAt < COUNT_MS
          ? undefined
          : `${this.#seen.size} of ${this.#workspaces}`;
      case "failure": {
        const { workspace, stack } = event.failure;
        const describe = this.#isNew(causeOf(event.failure)) ? lineOf : describeCause;
        const where = workspace === undefined ? stack : `${workspace} (${stack})`;
        return `failed: ${where}: ${describe(event.failure)}`;
      }
      case "note": {
        const { line, workspace } = event;
        if (!this.#isNew(line)) return undefined;
        return workspace === undefined ? line : `${workspace}: ${line}`;
      }
      case "stopping":
        // After Ctrl-C, explainStopping has already printed such a line.
        return this.#signal.aborted ? undefined : `stopping: ${event.why}`;
    }
    return undefined;
  }

  #isNew(text: string): boolean {
    const { size } = this.#printed;
    return this.#printed.add(text).size > size;
  }
}

/** Such as `production-2-of-4: done in 3.2 s: create 3, same 12`. */
function describeStack(report: StackReport): string {
  const { stack, outcome, seconds } = report;
  const counts = Object.entries(countChanges([report])).filter(([, number]) => number > 0);
  const changes = counts.map((pair) => pair.join(" ")).join(", ");
  return `${stack}: ${outcome} in ${duration(seconds)}${changes === "" ? "" : `: ${changes}`}`;
}
