import type { Failure, StackReport, WebhookReport } from "../reports.js";
import type { StackEvent } from "./task.js";

/** What a worker told before it ended without a report. */
export interface SeenEvents {
  onEvent: (event: StackEvent) => void;
  toReport(head: Pick<StackReport, "stack" | "outcome" | "seconds">, message: string): StackReport;
}

/** Keeps a task's events, and passes them on. */
export function collectEvents(passOn: (event: StackEvent) => void): SeenEvents {
  const webhooks = new Map<string, WebhookReport>();
  const failures: Failure[] = [];
  const notes: string[] = [];
  return {
    onEvent: (event) => {
      if (event.type === "webhook") webhooks.set(event.webhook.workspace, event.webhook);
      else if (event.type === "failure") failures.push(event.failure);
      else notes.push(event.line);
      passOn(event);
    },
    toReport: (head, message) => {
      const failure = { stack: head.stack, message: addLastLine(message, notes) };
      passOn({ type: "failure", failure });
      return {
        ...head,
        webhooks: [...webhooks.values()].toSorted((a, b) => (a.workspace < b.workspace ? -1 : 1)),
        failures: [...failures, failure],
        notes,
      };
    },
  };
}

/** A program that ends its process has often just said why. */
function addLastLine(message: string, notes: readonly string[]): string {
  const why = notes.findLast((line) => /error/i.test(line));
  return why === undefined || message.includes(": ") ? message : `${message}: ${why}`;
}
