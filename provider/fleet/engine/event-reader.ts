import type { DiagnosticEvent, EngineEvent, StepEventMetadata } from "@pulumi/pulumi/automation/index.js";
import { findWire } from "../../lib/provider-process.js";
import { toFailure } from "../failure-texts.js";
import { UNKNOWN } from "../../lib/checks.js";
import { hideQuery } from "../../lib/url.js";
import type { Failure, OtherChange, StackReport, WebhookChange, WebhookReport } from "../reports.js";
import { cleanError, linesOf, saysPending } from "./diagnostics.js";
import { readDrift, textOf, type ShownWebhook } from "./drift.js";
import type { StackEvent, StackTask } from "./task.js";

const WEBHOOK = "pulumi-nodejs:dynamic/apichat:ApiChatWebhook";
const KEY = "pulumi-nodejs:dynamic/apichat:VerificationKey";
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

/** Reads the events of one engine command as they come. */
export interface EventReader {
  /** What an event tells at once. */
  read(event: EngineEvent): StackEvent[];
  /** What all of them told. */
  result(): Pick<StackReport, "webhooks" | "others" | "failures" | "notes">;
  /** Whether the state holds operations of a run that was ended in the middle. */
  hasPending(): boolean;
}

interface Refreshed {
  before: ShownWebhook | undefined;
  after: ShownWebhook | undefined;
}

export function createEventReader(
  task: Pick<StackTask, "stack" | "action"> & { rotation?: string },
): EventReader {
  const refreshed = new Map<string, Refreshed>();
  const reports = new Map<string, WebhookReport>();
  const rotated = new Map<string, boolean>();
  const others = new Map<string, OtherChange>();
  const failures = new Map<string, Failure>();
  const general: string[] = [];
  const notes = new Set<string>();
  let isPending = false;

  const driftOf = (workspace: string): Pick<WebhookReport, "drift"> => {
    const seen = refreshed.get(workspace);
    const drift = seen && readDrift(seen);
    return drift ? { drift } : {};
  };

  const readRefresh = (workspace: string, { old, new: now }: StepEventMetadata): StackEvent[] => {
    refreshed.set(workspace, { before: old ?? undefined, after: now ?? undefined });
    return task.action === "refresh" ? [{ type: "webhook", webhook: describeRefreshed(workspace) }] : [];
  };

  const describeRefreshed = (workspace: string): WebhookReport => {
    const { before, after } = refreshed.get(workspace) ?? {};
    const found = driftOf(workspace);
    const change = after === undefined ? "delete" : found.drift ? "update" : "same";
    return { workspace, change, ...describe(after ?? before), ...found };
  };

  const noteOther = ({ urn, type }: StepEventMetadata, change: WebhookChange): void => {
    if (!WITHOUT_CHANGE.test(type) && change !== "same") others.set(urn, { name: nameIn(urn), type, change });
  };

  const readStep = (metadata: StepEventMetadata, isPreview: boolean): StackEvent[] => {
    const workspace = nameIn(metadata.urn);
    if (metadata.op === "refresh") return metadata.type === WEBHOOK ? readRefresh(workspace, metadata) : [];
    if (metadata.type === KEY) rotated.set(workspace, metadata.new?.inputs["rotation"] === task.rotation);
    const change = CHANGES[metadata.op];
    if (change === undefined) return [];
    if (metadata.type !== WEBHOOK) {
      noteOther(metadata, change);
      return [];
    }
    const { old, new: now } = metadata;
    const shown = change === "delete" ? describe(old) : describe(now, isPreview ? (old ?? null) : now);
    const isRotated = task.rotation === undefined ? undefined : rotated.get(workspace);
    const webhook: WebhookReport = {
      workspace,
      change,
      ...shown,
      ...driftOf(workspace),
      ...(isRotated === undefined ? {} : { isRotated }),
    };
    reports.set(workspace, webhook);
    return [{ type: "webhook", webhook }];
  };

  const readError = ({ urn, message }: DiagnosticEvent): StackEvent[] => {
    const text = cleanError(message);
    const workspace = urn === undefined || !isOurs(urn) ? undefined : nameIn(urn);
    if (workspace === undefined) {
      if (text !== "") general.push(text);
      return [];
    }
    const id = `${workspace} ${text}`;
    if (failures.has(id)) return [];
    const where = { workspace, stack: task.stack };
    const wire = findWire(text);
    const isData = wire !== undefined && "failure" in wire;
    const failure = isData ? toFailure(wire.failure, where) : { ...where, message: text };
    failures.set(id, failure);
    return [{ type: "failure", failure }];
  };

  const readLine = (line: string): StackEvent[] => {
    const wire = findWire(line);
    // The SDK prints the error of a read too, which comes as an error of its own.
    if (line.startsWith("ApiChatError: ")) return [];
    const isData = wire !== undefined && "note" in wire;
    const note = isData
      ? { line: `${wire.note.subject}: ${wire.note.text}`, text: wire.note.text }
      : { line };
    if (notes.has(note.line)) return [];
    notes.add(note.line);
    return [{ type: "note", ...note }];
  };

  const readDiagnostic = (event: DiagnosticEvent): StackEvent[] => {
    if (event.severity === "error") return readError(event);
    if (!["info", "info#err", "warning"].includes(event.severity) || event.ephemeral) return [];
    if (saysPending(event.message)) {
      isPending = true;
      return [];
    }
    return linesOf(event.message).flatMap(readLine);
  };

  return {
    read: (event) => {
      const step = event.resOutputsEvent;
      if (step) return readStep(step.metadata, (step as { planning?: boolean }).planning === true);
      return event.diagnosticEvent ? readDiagnostic(event.diagnosticEvent) : [];
    },
    result: () => {
      const left = [...refreshed.keys()].filter(
        (name) =>
          !reports.has(name) && (task.action === "refresh" || refreshed.get(name)?.after === undefined),
      );
      const webhooks = [...reports.values(), ...left.map(describeRefreshed)];
      const named = [...failures.values()];
      return {
        webhooks: webhooks.toSorted((a, b) => (a.workspace < b.workspace ? -1 : 1)),
        ...(others.size > 0 ? { others: [...others.values()] } : {}),
        failures: named.length > 0 ? named : toFailures(general, task.stack),
        notes: [...notes],
      };
    },
    hasPending: () => isPending,
  };
}

const nameIn = (urn: string): string => urn.split("::").slice(3).join("::");

const isOurs = (urn: string): boolean => [WEBHOOK, KEY].some((type) => urn.includes(`${type}::`));

/** `live` is where the status stands: in a preview that of the new state is only the wish. */
function describe(
  shown: ShownWebhook | null | undefined,
  live: ShownWebhook | null | undefined = shown,
): Partial<WebhookReport> {
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

/** Texts that concern the whole run. That an update failed says nothing beside another one. */
function toFailures(texts: readonly string[], stack: string): Failure[] {
  const telling = texts.filter(
    (text) => !/^(?:error: )?(?:update|preview|refresh|destroy) failed$/.test(text),
  );
  return [...new Set(telling.length > 0 ? telling : texts)].map((message) => ({ stack, message }));
}
