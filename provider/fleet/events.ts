import type { DiagnosticEvent, EngineEvent, StepEventMetadata } from "@pulumi/pulumi/automation/index.js";
import { UNKNOWN } from "../lib/checks.js";
import { findReport } from "../lib/provider-process.js";
import type { Redact } from "../lib/redact.js";
import { hideQuery } from "../lib/url.js";
import type { DriftedProperty } from "../webhook/state.js";
import { toFailure } from "./failures.js";
import type { Drift, Failure, OtherChange, StackReport, WebhookChange, WebhookReport } from "./reports.js";

/** The resource types of both providers: a stack of the dynamic one keeps its types until the next `up`. */
const OURS = /^(?:pulumi-nodejs:dynamic\/apichat|apichat:index):(ApiChatWebhook|VerificationKey)$/;

const isWebhook = (type: string): boolean => OURS.exec(type)?.[1] === "ApiChatWebhook";

/** `urn:pulumi:<stack>::<project>::<types>::<name>`; the type of the resource is the last of its parents'. */
const isOurs = (urn: string | undefined): urn is string =>
  urn !== undefined && OURS.test(urn.split("::")[2]?.split("$").at(-1) ?? "");

/** What an operation of the engine means for a resource. The others are parts of one of these. */
const CHANGES: Partial<Record<string, WebhookChange>> = {
  create: "create",
  update: "update",
  delete: "delete",
  same: "same",
  "create-replacement": "update",
};

/** What happens in one stack. */
export type StackEvent =
  | { type: "webhook"; webhook: WebhookReport }
  | { type: "failure"; failure: Failure }
  | { type: "note"; line: string; text?: string };

/** A resource as an engine event shows it: secrets are objects. */
type Shown = { id: string; inputs: Record<string, unknown>; outputs: Record<string, unknown> };

export interface EventReaderOptions {
  stack: string;
  /** Whether the command is `refresh`, which has no other steps. */
  isRefresh: boolean;
  redact: Redact;
  onEvent: (event: StackEvent) => void;
}

/** Reads the events of one engine command as they come. */
export class EventReader {
  readonly #options: EventReaderOptions;
  /** What a refresh found, which comes before the other steps. */
  readonly #refreshed = new Map<string, WebhookReport>();
  readonly #webhooks = new Map<string, WebhookReport>();
  readonly #others = new Map<string, OtherChange>();
  readonly #failures = new Map<string, Failure>();
  /** Errors that name no resource of ours. */
  readonly #general = new Set<string>();
  readonly #notes = new Set<string>();
  /** Whether the state contains operations of a run that was killed. */
  hasPending = false;

  constructor(options: EventReaderOptions) {
    this.#options = options;
  }

  read({ resOutputsEvent, diagnosticEvent }: EngineEvent): void {
    if (resOutputsEvent) this.#readStep(resOutputsEvent);
    else if (diagnosticEvent) this.#readDiagnostic(diagnosticEvent);
  }

  /** Summarizes all events. */
  result(): Pick<StackReport, "webhooks" | "others" | "failures" | "notes"> {
    const { isRefresh } = this.#options;
    // A webhook that is gone and has left the list has no other step.
    const found = [...this.#refreshed].filter(([, { change }]) => isRefresh || change === "delete");
    const webhooks = [...new Map([...found, ...this.#webhooks]).values()];
    const failures = [...this.#failures.values()];
    return {
      webhooks: webhooks.toSorted((a, b) => (a.workspace < b.workspace ? -1 : 1)),
      ...(this.#others.size > 0 ? { others: [...this.#others.values()] } : {}),
      failures: failures.length > 0 ? failures : this.#generalFailures(),
      notes: [...this.#notes],
    };
  }

  #readStep({ metadata, planning = false }: { metadata: StepEventMetadata; planning?: boolean }): void {
    const { op, type, urn, old, new: now } = metadata;
    const name = nameIn(urn);
    const change = CHANGES[op];
    if (op === "refresh" && isWebhook(type)) this.#readRefresh(name, metadata);
    if (change === undefined) return;
    if (isWebhook(type)) {
      const shown = change === "delete" ? describe(old) : describe(now, planning ? old : now);
      const { drift } = this.#refreshed.get(name) ?? {};
      const webhook = { workspace: name, change, ...shown, ...(drift && { drift }) };
      this.#webhooks.set(name, webhook);
      this.#options.onEvent({ type: "webhook", webhook });
    } else if (change !== "same" && !type.startsWith("pulumi:")) {
      this.#others.set(urn, { name, type, change });
    }
  }

  #readRefresh(workspace: string, { old: before, new: after }: StepEventMetadata): void {
    const drift = readDrift(before, after);
    const change = after ? (drift ? "update" : "same") : "delete";
    const webhook = { workspace, change, ...describe(after ?? before), ...(drift && { drift }) } as const;
    this.#refreshed.set(workspace, webhook);
    if (this.#options.isRefresh) this.#options.onEvent({ type: "webhook", webhook });
  }

  #readDiagnostic({ message: text, ...event }: DiagnosticEvent): void {
    const message = this.#options.redact(text);
    if (event.severity === "error") return this.#readError(message, event.urn);
    if (!["info", "info#err", "warning"].includes(event.severity) || event.ephemeral) return;
    if (/pending (?:operations|CREATE)/i.test(message)) this.hasPending = true;
    else linesOf(message).forEach((line) => this.#readLine(line, event));
  }

  #readError(message: string, urn: string | undefined): void {
    const text = cleanError(message);
    if (!isOurs(urn)) {
      if (text !== "") this.#general.add(text);
      return;
    }
    const where = { workspace: nameIn(urn), stack: this.#options.stack };
    const id = `${where.workspace} ${text}`;
    if (this.#failures.has(id)) return;
    const reported = findReport(text);
    const failure = reported ? toFailure(reported, where) : { ...where, message: text };
    this.#failures.set(id, failure);
    this.#options.onEvent({ type: "failure", failure });
  }

  /** A line that the provider has printed under its resource gets the name of it. */
  #readLine(printed: string, { urn, severity }: Pick<DiagnosticEvent, "urn" | "severity">): void {
    const text = severity === "warning" ? `warning: ${printed}` : printed;
    const note = isOurs(urn) ? { line: `${nameIn(urn)}: ${text}`, text } : { line: printed };
    if (this.#notes.has(note.line)) return;
    this.#notes.add(note.line);
    this.#options.onEvent({ type: "note", ...note });
  }

  /** Errors of the whole run. That an update failed says nothing if another text says why. */
  #generalFailures(): Failure[] {
    const texts = [...this.#general];
    const telling = texts.filter(
      (text) => !/^(?:error: )?(?:update|preview|refresh|destroy) failed$/.test(text),
    );
    const { stack } = this.#options;
    return (telling.length > 0 ? telling : texts).map((message) => ({ stack, message }));
  }
}

/** How the service differs from what was last applied, as the provider's read found it; undefined if it does not. */
function readDrift(before?: Shown | null, after?: Shown | null): Drift | undefined {
  if (!after) return { kind: "gone", properties: before ? [goneUrl(before)] : [] };
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

const goneUrl = ({ inputs }: Shown): DriftedProperty => ({
  property: "webhookUrl",
  expected: hideQuery(textOf(inputs["webhookUrl"]) ?? "[secret]"),
  actual: "(nothing is registered)",
});

/** A value that is neither secret nor unknown. */
const textOf = (value: unknown): string | undefined => (typeof value === "string" ? value : undefined);

const nameIn = (urn: string): string => urn.split("::").slice(3).join("::");

/** `live` has the status: in a preview, the new state has only the expected one. */
function describe(shown?: Shown | null, live = shown): Partial<WebhookReport> {
  if (!shown) return {};
  const found = {
    botUrl: shown.id,
    status: textOf(live?.outputs["status"]),
    baseUrl: textOf(shown.inputs["baseUrl"]),
    webhookUrl: textOf(shown.inputs["webhookUrl"]),
  };
  const known = Object.entries(found).filter(
    ([, value]) => value !== undefined && value !== "" && value !== UNKNOWN,
  );
  return Object.fromEntries(known.map(([name, value]) => [name, hideQuery(String(value))]));
}

/** The lines of a text of the engine, without its marks for colours and without empty ones. */
const linesOf = (text: string): string[] =>
  text
    .replaceAll(/<\{%.*?%\}>/g, "")
    .split(/\r?\n/)
    .map((line) => line.trimEnd())
    .filter((line) => line.trim() !== "");

/** The text of an error, without what the engine puts around the message of a check. */
const cleanError = (text: string): string =>
  linesOf(text)
    .join("\n")
    .replace(/^Preview failed: /, "")
    .replace(/^(?:error: )?(?:pulumi-nodejs|apichat):\S+ resource '[^']*' has a problem: /, "");
