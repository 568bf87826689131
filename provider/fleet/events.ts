import type { DiagnosticEvent, EngineEvent, StepEventMetadata } from "@pulumi/pulumi/automation/index.js";
import { UNKNOWN } from "../lib/checks.js";
import { hideQuery } from "../lib/url.js";
import { findWire } from "../lib/provider-process.js";
import type { DriftedProperty } from "../webhook/state.js";
import { toFailure } from "./failures.js";
import type { Drift, Failure, OtherChange, StackReport, WebhookChange, WebhookReport } from "./reports.js";

/** The resource types of both providers, dynamic and plugin. */
const OURS = /^(?:pulumi-nodejs:dynamic\/apichat|apichat:index):(ApiChatWebhook|VerificationKey)$/;

const isWebhook = (type: string): boolean => OURS.exec(type)?.[1] === "ApiChatWebhook";
const isKey = (type: string): boolean => OURS.exec(type)?.[1] === "VerificationKey";

/** `urn:pulumi:<stack>::<project>::<types>::<name>`; the type of the resource is the last of its parents'. */
const isOurs = (urn: string | undefined): urn is string =>
  urn !== undefined && OURS.test(urn.split("::")[2]?.split("$").at(-1) ?? "");

/** The stack itself and its providers; and the component of a responder, whose process is a resource of its own. */
const WITHOUT_CHANGE = /^pulumi:|^apichat:index:HandshakeResponder$/;

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
type Shown = { id: string; inputs: Record<string, unknown>; outputs: Record<string, unknown> } | undefined;

export interface EventReaderOptions {
  stack: string;
  isRefresh: boolean;
  /** The rotation that the run asks for. */
  rotation?: string;
  onEvent: (event: StackEvent) => void;
}

/** Reads the events of one engine command as they come. */
export class EventReader {
  readonly #options: EventReaderOptions;
  readonly #refreshed = new Map<string, { before: Shown; after: Shown }>();
  readonly #webhooks = new Map<string, WebhookReport>();
  readonly #rotated = new Map<string, boolean>();
  readonly #others = new Map<string, OtherChange>();
  readonly #failures = new Map<string, Failure>();
  /** Errors that name no resource of ours. */
  readonly #general = new Set<string>();
  readonly #notes = new Set<string>();
  /** Whether the state holds operations of a run that was killed. */
  hasPending = false;

  constructor(options: EventReaderOptions) {
    this.#options = options;
  }

  read({ resOutputsEvent, diagnosticEvent }: EngineEvent): void {
    if (resOutputsEvent) this.#readStep(resOutputsEvent);
    else if (diagnosticEvent) this.#readDiagnostic(diagnosticEvent);
  }

  /** What all of them reported. */
  result(): Pick<StackReport, "webhooks" | "others" | "failures" | "notes"> {
    const left = [...this.#refreshed].filter(
      ([name, { after }]) => !this.#webhooks.has(name) && (this.#options.isRefresh || after === undefined),
    );
    const webhooks = [...this.#webhooks.values(), ...left.map(([name]) => this.#describeRefreshed(name))];
    const named = [...this.#failures.values()];
    return {
      webhooks: webhooks.toSorted((a, b) => (a.workspace < b.workspace ? -1 : 1)),
      ...(this.#others.size > 0 ? { others: [...this.#others.values()] } : {}),
      failures: named.length > 0 ? named : this.#generalFailures(),
      notes: [...this.#notes],
    };
  }

  #readStep({ metadata, planning = false }: { metadata: StepEventMetadata; planning?: boolean }): void {
    const { op, type, urn, old, new: now } = metadata;
    const workspace = nameIn(urn);
    if (op === "refresh") {
      if (isWebhook(type)) this.#readRefresh(workspace, metadata);
      return;
    }
    const change = CHANGES[op];
    if (isKey(type)) this.#readKey(workspace, metadata);
    if (change === undefined) return;
    if (!isWebhook(type)) {
      if (!WITHOUT_CHANGE.test(type) && change !== "same")
        this.#others.set(urn, { name: workspace, type, change });
      return;
    }
    const shown = change === "delete" ? describe(old) : describe(now, planning ? old : now);
    const isRotated = this.#options.rotation === undefined ? undefined : this.#rotated.get(workspace);
    const webhook: WebhookReport = {
      workspace,
      change,
      ...shown,
      ...this.#driftOf(workspace),
      ...(isRotated === undefined ? {} : { isRotated }),
    };
    this.#webhooks.set(workspace, webhook);
    this.#options.onEvent({ type: "webhook", webhook });
  }

  #readKey(workspace: string, { new: now }: StepEventMetadata): void {
    const { rotation, rotations } = (now?.inputs ?? {}) as { rotation?: unknown; rotations?: unknown[] };
    this.#rotated.set(workspace, (rotations?.[0] ?? rotation) === this.#options.rotation);
  }

  #readRefresh(workspace: string, { old, new: now }: StepEventMetadata): void {
    this.#refreshed.set(workspace, { before: old ?? undefined, after: now ?? undefined });
    if (!this.#options.isRefresh) return;
    this.#options.onEvent({ type: "webhook", webhook: this.#describeRefreshed(workspace) });
  }

  #describeRefreshed(workspace: string): WebhookReport {
    const { before, after } = this.#refreshed.get(workspace) ?? {};
    const found = this.#driftOf(workspace);
    const change = after === undefined ? "delete" : found.drift ? "update" : "same";
    return { workspace, change, ...describe(after ?? before), ...found };
  }

  #driftOf(workspace: string): Pick<WebhookReport, "drift"> {
    const seen = this.#refreshed.get(workspace);
    const drift = seen && readDrift(seen.before, seen.after);
    return drift ? { drift } : {};
  }

  #readDiagnostic(event: DiagnosticEvent): void {
    if (event.severity === "error") return this.#readError(event);
    if (!["info", "info#err", "warning"].includes(event.severity) || event.ephemeral) return;
    if (/pending (?:operations|CREATE)/i.test(event.message)) this.hasPending = true;
    else linesOf(event.message).forEach((line) => this.#readLine(line, event));
  }

  #readError({ urn, message }: DiagnosticEvent): void {
    const text = cleanError(message);
    if (!isOurs(urn)) {
      if (text !== "") this.#general.add(text);
      return;
    }
    const where = { workspace: nameIn(urn), stack: this.#options.stack };
    const id = `${where.workspace} ${text}`;
    if (this.#failures.has(id)) return;
    const wire = findWire(text);
    const isData = wire !== undefined && "failure" in wire;
    const failure = isData ? toFailure(wire.failure, where) : { ...where, message: text };
    this.#failures.set(id, failure);
    this.#options.onEvent({ type: "failure", failure });
  }

  #readLine(line: string, { urn, severity }: DiagnosticEvent): void {
    // The SDK prints the error of a read too, which comes as an error of its own.
    if (line.startsWith("ApiChatError: ")) return;
    const wire = findWire(line);
    const reported = wire !== undefined && "note" in wire ? wire.note : noteOfPlugin(line, { urn, severity });
    const note =
      reported === undefined
        ? { line }
        : { line: `${reported.subject}: ${reported.text}`, text: reported.text };
    if (this.#notes.has(note.line)) return;
    this.#notes.add(note.line);
    this.#options.onEvent({ type: "note", ...note });
  }

  /** Texts that concern the whole run. That an update failed is no news beside another one. */
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
function readDrift(before: Shown, after: Shown): Drift | undefined {
  if (after === undefined) return { kind: "gone", properties: before ? [goneUrl(before)] : [] };
  const properties = ((after.outputs["drift"] ?? []) as DriftedProperty[]).map(showDrifted);
  if (properties.length === 0) return undefined;
  const drifted = new Set(properties.map(({ property }) => property));
  const isTakenOver = drifted.has("webhookUrl") && drifted.has("webhookVerificationKey");
  return { kind: isTakenOver ? "taken-over" : "changed", properties };
}

/** A value may be secret. */
const showDrifted = ({ property, expected, actual }: DriftedProperty): DriftedProperty => ({
  property,
  expected: textOf(expected) ?? "[secret]",
  actual: textOf(actual) ?? "[secret]",
});

const goneUrl = (before: NonNullable<Shown>): DriftedProperty => ({
  property: "webhookUrl",
  expected: hideQuery(textOf(before.inputs["webhookUrl"]) ?? "[secret]"),
  actual: "(nothing is registered)",
});

/** A value that is neither secret nor unknown. */
const textOf = (value: unknown): string | undefined => (typeof value === "string" ? value : undefined);

const nameIn = (urn: string): string => urn.split("::").slice(3).join("::");

/** `live` has the status: in a preview that of the new state is only the wish. */
function describe(shown: Shown | null, live: Shown | null = shown): Partial<WebhookReport> {
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

/** The lines of a text of the engine, without its marks for colours and without what is empty. */
const linesOf = (text: string): string[] =>
  text
    .replaceAll(/<\{%.*?%\}>/g, "")
    .split(/\r?\n/)
    .map((line) => line.trimEnd())
    .filter((line) => line.trim() !== "");

/** A line that the plugin has printed under its resource. */
function noteOfPlugin(
  line: string,
  { urn, severity }: Pick<DiagnosticEvent, "urn" | "severity">,
): { subject: string; text: string } | undefined {
  if (!isOurs(urn)) return undefined;
  return { subject: nameIn(urn), text: severity === "warning" ? `warning: ${line}` : line };
}

/** The text of an error, without what the engine puts around the message of a check. */
const cleanError = (text: string): string =>
  linesOf(text)
    .join("\n")
    .replace(/^Preview failed: /, "")
    .replace(/^(?:error: )?(?:pulumi-nodejs|apichat):\S+ resource '[^']*' has a problem: /, "");
