import type { StackTask } from "../../../provider/fleet/engine/task.ts";
import type { Drift, StackReport, WebhookReport } from "../../../provider/fleet/reports.ts";
import { botUrlOf, type FakeWorkers, type Script } from "./fake-workers.ts";
import { stackAt } from "./harness.ts";

/**
 * Stands in for the keys of a fleet: what an engine says of a program with one `VerificationKey` for each workspace, and what
 * the service shows afterwards. The engine itself is tested in test/engine.
 */
export class FakeKeys {
  /** The rotation of each workspace's key. */
  readonly rotationOf = new Map<string, string>();
  /** What the next look at the service finds. */
  readonly driftOf = new Map<string, Drift>();
  readonly statusOf = new Map<string, string>();
  /** Workspaces whose `up` fails. */
  readonly broken = new Set<string>();
  /** Whether the program passes the rotation on. */
  passesRotation = true;

  /** Plays every stack of a fake from here on. */
  play(workers: FakeWorkers): void {
    for (const index of [0, 1, 2, 3]) workers.scripts.set(stackAt(index), this.#script);
  }

  readonly #script: Script = (_, task): Partial<StackReport> => {
    if (task.action !== "up" && task.action !== "preview") throw new Error(`not played: ${task.action}`);
    const names = task.workspaces.map(({ name }) => name);
    const failures = names
      .filter((name) => task.action === "up" && this.broken.has(name))
      .map((workspace) => ({ workspace, stack: task.stack, message: "set-webhook: HTTP 500" }));
    const webhooks = names.filter((name) => !this.broken.has(name)).map((name) => this.#report(name, task));
    return { outcome: failures.length > 0 ? "failed" : "done", webhooks, failures };
  };

  #report(workspace: string, task: StackTask): WebhookReport {
    const known = {
      workspace,
      botUrl: botUrlOf(workspace),
      status: this.statusOf.get(workspace) ?? "verified",
    };
    if (task.action !== "up" || task.rotation === undefined) {
      const drift = this.driftOf.get(workspace);
      return drift ? { ...known, change: "update", drift } : { ...known, change: "same" };
    }
    if (!this.passesRotation) return { ...known, change: "same", isRotated: false };
    const isNew = this.rotationOf.get(workspace) !== task.rotation;
    this.rotationOf.set(workspace, task.rotation);
    return { ...known, change: isNew ? "update" : "same", isRotated: true };
  }
}

/** What a look finds where somebody changed the URL. */
export const CHANGED: Drift = {
  kind: "changed",
  properties: [
    {
      property: "webhookUrl",
      expected: "https://chat.example/webhooks/apichat",
      actual: "https://other.example/",
    },
  ],
};
