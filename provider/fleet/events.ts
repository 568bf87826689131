import type { DiagnosticEvent, EngineEvent, StepEventMetadata } from "@pulumi/pulumi/automation/index.js";
import { UNKNOWN } from "../pulumi/unknown.js";
import { findReport } from "../pulumi/provider-process.js";
import type { Redact } from "../lib/redact.js";
import { hideQuery } from "../lib/url.js";
import { parseUrn } from "../lib/urn.js";
import type { DriftedProperty } from "../webhook/provider.js";
import { toFailure } from "./failures.js";
import type { Drift, FleetFailure, StackReport, WebhookChange, WebhookReport } from "./reports.js";

const WEBHOOK = "apichat:index:ApiChatWebhook";
const KEY = "apichat:index:VerificationKey";

const COLOURS = /<\{%.*?%\}>/g;

/** Maps engine operations to changes of a resource. Operations that are not listed are only steps of a change. */
const CHANGES: Partial<Record<string, WebhookChange>> = {
  create: "create",
  update: "update",
  delete: "delete",
  same: "same",
  "create-replacement": "update",
};

export type StackEvent =
  | { type: "webhook"; webhook: WebhookReport }
  | { type: "failure"; failure: FleetFailure }
  | { type: "note"; line: string; workspace?: string };

/** A resource in an engine event. Its secrets appear as objects. */
type Shown = { id: string; inputs: Record<string, unknown>; outputs: Record<string, unknown> };

export interface EventReaderOptions {
  stack: string;
  /** Whether the command is `refresh`, which has only refresh steps. */
  isRefresh: boolean;
  redact: Redact;
  onEvent: (event: StackEvent) => void;
}

export class EventReader {
  readonly #options: EventReaderOptions;
  /** Results of the refresh, which precedes the other steps. */
  readonly #refreshed = new Map<string, WebhookReport>();
  readonly #webhooks = new Map<string, WebhookReport>();
  readonly #keys = new Map<string, StackReport["keys"][number]>();
  /** The failures, without duplicates. A failure without a workspace is not about a resource of this package. */
  readonly #failures = new Map<string, FleetFailure>();

  constructor(options: EventReaderOptions) {
    this.#options = options;
  }

  read({ resOutputsEvent, diagnosticEvent }: EngineEvent): void {
    if (resOutputsEvent) this.#readStep(resOutputsEvent);
    else if (diagnosticEvent) this.#readDiagnostic(diagnosticEvent);
  }

  result(): Pick<StackReport, "webhooks" | "keys" | "failures"> {
    const { isRefresh } = this.#options;
    // If a webhook is in neither the service nor the list, the refresh is its only step.
    const found = [...this.#refreshed].filter(([, { change }]) => isRefresh || change === "delete");
    const webhooks = [...new Map([...found, ...this.#webhooks]).values()];
    return {
      webhooks: webhooks.toSorted((a, b) => (a.workspace < b.workspace ? -1 : 1)),
      keys: [...this.#keys.values()],
      failures: selectTelling([...this.#failures.values()]),
    };
  }

  #readStep({ metadata }: { metadata: StepEventMetadata }): void {
    const { op, type, urn, old, new: now } = metadata;
    const { name } = parseUrn(urn);
    const change = CHANGES[op];
    if (op === "refresh" && type === WEBHOOK) this.#readRefresh(name, metadata);
    if (change === undefined) return;
    if (type === WEBHOOK) {
      const webhook = toWebhookReport(
        name,
        change,
        change === "delete" ? old : now,
        this.#refreshed.get(name)?.drift,
      );
      this.#webhooks.set(name, webhook);
      this.#options.onEvent({ type: "webhook", webhook });
    } else if (change !== "same" && type === KEY) this.#keys.set(name, { workspace: name, change });
  }

  #readRefresh(workspace: string, { old: before, new: after }: StepEventMetadata): void {
    const drift = readDrift(after);
    const change = after ? (drift ? "update" : "same") : "delete";
    const webhook = toWebhookReport(workspace, change, after ?? before, drift);
    this.#refreshed.set(workspace, webhook);
    if (this.#options.isRefresh) this.#options.onEvent({ type: "webhook", webhook });
  }

  #readDiagnostic({ message, severity, urn = "", ephemeral }: DiagnosticEvent): void {
    const text = this.#options.redact(message).replaceAll(COLOURS, "").trim();
    const { type, name } = parseUrn(urn);
    const where = [WEBHOOK, KEY].includes(type) ? { workspace: name } : {};
    if (severity === "error") this.#readError(text, { ...where, stack: this.#options.stack });
    else if (["info", "info#err", "warning"].includes(severity) && !ephemeral) {
      const lines = (severity === "warning" ? `warning: ${text}` : text).split(/\s*\n/);
      for (const line of lines) if (line !== "") this.#options.onEvent({ type: "note", line, ...where });
    }
  }

  #readError(message: string, where: Pick<FleetFailure, "stack" | "workspace">): void {
    const id = JSON.stringify([where, message]);
    if (this.#failures.has(id) || message === "") return;
    const reported = findReport(message);
    const failure = reported ? toFailure(reported, where) : { ...where, message };
    this.#failures.set(id, failure);
    if (failure.workspace !== undefined) this.#options.onEvent({ type: "failure", failure });
  }
}

/** Keeps only failures of webhooks. If there are none, drops the last of several: it only says that the run failed. */
function selectTelling(failures: FleetFailure[]): FleetFailure[] {
  const own = failures.filter(({ workspace }) => workspace !== undefined);
  if (own.length > 0) return own;
  return failures.length > 1 ? failures.slice(0, -1) : failures;
}

/** How the service differs from what was last applied, according to the provider's read; undefined if it does not. */
function readDrift(after?: Shown | null): Drift | undefined {
  if (!after) return { kind: "gone", properties: [] };
  const properties = ((after.outputs["drift"] ?? []) as DriftedProperty[]).map(
    ({ property, expected, actual }) => ({
      property,
      expected: textOf(expected) ?? "[secret]",
      actual: textOf(actual) ?? "[secret]",
    }),
  );
  if (properties.length === 0) return undefined;
  const drifted = new Set(properties.map(({ property }) => property));
  const isTakenOver = drifted.has("webhookUrl") && drifted.has("webhookVerificationKey");
  return { kind: isTakenOver ? "taken-over" : "changed", properties };
}

const textOf = (value: unknown): string | undefined => (typeof value === "string" ? value : undefined);

/** A preview does not know the bot URL of a new webhook. */
function toWebhookReport(
  workspace: string,
  change: WebhookChange,
  shown: Shown | null | undefined,
  drift: Drift | undefined,
): WebhookReport {
  const isKnown = shown && shown.id !== "" && shown.id !== UNKNOWN;
  return { workspace, change, ...(isKnown && { botUrl: hideQuery(shown.id) }), ...(drift && { drift }) };
}
