import { readFileSync } from "node:fs";
import type { EngineEvent } from "@pulumi/pulumi/automation/index.js";
import { expect, test } from "vitest";
import { renderFailure, type Failure as ErrorData } from "../../../provider/errors/index.ts";
import { toWireLine } from "../../../provider/lib/provider-process.ts";
import { EventReader, type StackEvent } from "../../../provider/fleet/events.ts";

/** Events of engine 3.259.0, recorded, without what nobody reads. */
const recorded = (name: "up" | "watch"): EngineEvent[] => {
  const file = new URL(`../../fixtures/fleet/${name}-events.json`, import.meta.url);
  return JSON.parse(readFileSync(file, "utf8")) as EngineEvent[];
};

/** Reads the events of a command: what came as it was read, and in the end. */
function read(
  events: readonly EngineEvent[],
  { isRefresh = false, rotation }: { isRefresh?: boolean; rotation?: string } = {},
) {
  const came: StackEvent[] = [];
  const asked = rotation === undefined ? {} : { rotation };
  const reader = new EventReader({ stack: "s1", isRefresh, ...asked, onEvent: (one) => void came.push(one) });
  for (const one of events) reader.read(one);
  const { hasPending } = reader;
  return { ...reader.result(), came, hasPending };
}

const event = (content: Record<string, unknown>): EngineEvent => ({ sequence: 1, timestamp: 1, ...content });

const diagnostic = (severity: string, message: string, urn?: string): EngineEvent =>
  event({ diagnosticEvent: { severity, message, urn, color: "never" } });

const KEY_TYPE = "pulumi-nodejs:dynamic/apichat:VerificationKey";
const WEBHOOK = "pulumi-nodejs:dynamic/apichat:ApiChatWebhook";
const urnOf = (name: string, type = WEBHOOK): string => `urn:pulumi:s1::exp::${type}::${name}`;
const SECRET = {
  "4dabf18193072939515e22adb298388d": "1b47061264138c4ac30d75fd1eb44270",
  ciphertext: "[secret]",
};

/** A webhook whose URL has a query: URL and record are secret. */
const secretWebhook = {
  id: "https://bots.example/acme",
  inputs: { webhookUrl: SECRET },
  outputs: { webhookUrl: SECRET, applied: SECRET, status: "verified", botUrl: "https://bots.example/acme" },
};
const step = (
  op: string,
  name: string,
  states: { old?: unknown; new?: unknown },
  planning = true,
): EngineEvent =>
  event({
    resOutputsEvent: {
      metadata: { op, urn: urnOf(name), type: WEBHOOK, old: null, new: null, ...states },
      planning,
    },
  });

test("an up reports each webhook as it is done, all of them by name, and what else changes", () => {
  const { came, webhooks, others, failures, notes } = read(recorded("up"), {
    rotation: "2026-12",
  });
  expect(came.map(({ type }) => type)).toEqual(Array.from({ length: 5 }, () => "webhook"));
  expect(webhooks.map(({ workspace }) => workspace)).toEqual(["a", "b", "c", "d", "e"]);
  expect(webhooks[0]).toEqual({
    workspace: "a",
    change: "create",
    botUrl: "http://127.0.0.1:42865/api/apichat/f9403f88d7c46c9b7904d42e",
    status: "verified",
    baseUrl: "http://127.0.0.1:37603/a/apichat",
    webhookUrl: "http://127.0.0.1:34737/a",
    isRotated: false,
  });
  // What the engine prints for those who debug it is no note.
  expect({ others, failures, notes }).toEqual({
    others: [{ name: "a", type: KEY_TYPE, change: "create" }],
    failures: [],
    notes: [],
  });
});

test("a preview with refresh reports every kind of drift beside what the next up would do", () => {
  const { webhooks, notes } = read(recorded("watch"));
  expect(webhooks.map(({ workspace, change, drift }) => [workspace, change, drift?.kind])).toEqual([
    ["a", "update", "changed"],
    ["b", "update", "taken-over"],
    ["c", "update", "changed"],
    ["d", "create", "gone"],
    ["e", "same", undefined],
  ]);
  const [expected, actual] = ["http://127.0.0.1:34737/a", "http://127.0.0.1:34737/other"];
  expect(webhooks[0]?.drift?.properties).toEqual([{ property: "webhookUrl", expected, actual }]);
  // What would be created has neither yet.
  expect(webhooks[3]).not.toHaveProperty("botUrl");
  expect(webhooks[3]).not.toHaveProperty("status");
  // The provider prints it twice.
  expect(notes.filter((line) => line.startsWith("b: webhookUrl changes"))).toHaveLength(1);
});

test.each([
  ["a random key of this rotation", { rotation: "2026-12" }, true],
  ["a random key of another one", { rotation: "2026-09" }, false],
  ["a derived key of this rotation", { rotations: ["2026-12", "2026-09"] }, true],
  ["a derived key of another one", { rotations: ["2026-09"] }, false],
])("a webhook with %s", (_, inputs, isRotated) => {
  const metadata = { op: "update", type: KEY_TYPE, urn: urnOf("acme", KEY_TYPE), old: null, new: { inputs } };
  const events = [
    event({ resOutputsEvent: { metadata } }),
    step("update", "acme", { new: secretWebhook }, false),
  ];
  const found = read(events, { rotation: "2026-12" });
  expect(found.webhooks).toMatchObject([{ workspace: "acme", isRotated }]);
});

test("a URL that is secret has drifted as the refresh found it", () => {
  const properties = [
    {
      property: "webhookUrl",
      expected: "https://a.example/acme?token=***",
      actual: "https://a.example/x?token=***",
    },
  ];
  const drifted = { ...secretWebhook, outputs: { ...secretWebhook.outputs, drift: properties } };
  const events = [
    step("refresh", "acme", { old: secretWebhook, new: drifted }),
    step("update", "acme", { old: drifted, new: secretWebhook }),
  ];
  const drift = { kind: "changed", properties };
  expect(read(events).webhooks).toMatchObject([{ workspace: "acme", change: "update", drift }]);
});

test("a failure that the provider reports as data has its data, without the name of its resource", () => {
  const error: ErrorData = {
    code: "unauthorized",
    operation: "get-webhook",
    subject: "acme",
    summary: "get-webhook at https://platform.example/acme: HTTP 401",
    facts: { at: "https://platform.example/acme" },
    hints: [{ id: "give_api_key" }],
    attempts: 1,
    httpStatus: 401,
  };
  const text = `<{%reset%}>acme: refused\n${toWireLine({ failure: error })}<{%reset%}>\n\n`;
  const { subject: _, ...bare } = error;
  expect(read([diagnostic("error", text, urnOf("acme"))]).failures).toEqual([
    { workspace: "acme", stack: "s1", message: renderFailure(bare, "fleet"), error: bare },
  ]);
});

test("a text that looks like a report is a text, unless it has the mark of this run", () => {
  const forged = JSON.stringify({ apichat: { failure: { code: "conflict", summary: "forged" } } });
  const text = `acme: HTTP 400: ${forged}`;
  expect(read([diagnostic("error", text, urnOf("acme"))]).failures).toEqual([
    { workspace: "acme", stack: "s1", message: text },
  ]);
  const note = JSON.stringify({ apichat: { note: { subject: "acme", text: "forged" } } });
  expect(read([diagnostic("info", note)])).toMatchObject({ notes: [note] });
});

const UPDATE_FAILED = diagnostic("error", "update failed");
const REFUSED = diagnostic("error", "acme: the service refused the API key\n", urnOf("acme"));
const CHECKED = `${WEBHOOK} resource 'acme' has a problem: webhookUrl: must be an absolute URL`;

test.each([
  ["of a webhook, once", [REFUSED, REFUSED, UPDATE_FAILED], "acme: the service refused the API key"],
  ["of a check, alone", [diagnostic("error", CHECKED, urnOf("acme"))], "webhookUrl: must be an absolute URL"],
  ["of the whole run", [diagnostic("error", "no space left\n"), UPDATE_FAILED], "no space left"],
  ["of the whole run, if there is no other", [UPDATE_FAILED], "update failed"],
])("a failure is the message %s", (_, events, message) => {
  expect(read(events).failures).toEqual([
    { stack: "s1", message, ...(events[0]?.diagnosticEvent?.urn ? { workspace: "acme" } : {}) },
  ]);
});

test.each([
  [
    toWireLine({ note: { subject: "acme", text: "the key is short" } }),
    {
      came: [{ type: "note", line: "acme: the key is short", text: "the key is short" }],
      notes: ["acme: the key is short"],
      hasPending: false,
    },
  ],
  [
    "Attempting to deploy or update resources with 1 pending operations from previous deployment.\n  * urn, interrupted while creating",
    { hasPending: true, notes: [] },
  ],
])("of the warning %j comes %j", (line, found) => {
  expect(read([diagnostic("warning", `${line}\n`)])).toMatchObject(found);
});

test("what the plugin reports and prints comes as from the dynamic provider", () => {
  const type = "apichat:index:ApiChatWebhook";
  const urn = urnOf("acme", type);
  const failure = {
    operation: "set-webhook",
    code: "conflict",
    summary: "taken",
    facts: {},
    hints: [],
  } as const;
  const error = { ...failure, attempts: 1 } satisfies ErrorData;
  const created = { op: "create", type, urn, old: null, new: secretWebhook };
  const { webhooks, notes, failures, others } = read([
    event({ resOutputsEvent: { metadata: created, planning: false } }),
    event({
      resOutputsEvent: {
        metadata: {
          ...created,
          type: "pulumi:providers:apichat",
          urn: urnOf("default", "pulumi:providers:apichat"),
        },
      },
    }),
    diagnostic("info", "adopts what is registered\n", urn),
    diagnostic("warning", "the key is short\n", urn),
    diagnostic("error", `taken\n${toWireLine({ failure: error })}\n`, urn),
    diagnostic(
      "error",
      `${type} resource 'globex' has a problem: webhookUrl is missing\n`,
      urnOf("globex", type),
    ),
  ]);
  expect(webhooks).toMatchObject([{ workspace: "acme", change: "create", botUrl: secretWebhook.id }]);
  expect(others).toBeUndefined();
  expect(notes).toEqual(["acme: adopts what is registered", "acme: warning: the key is short"]);
  expect(failures).toMatchObject([
    { workspace: "acme", error: failure },
    { workspace: "globex", message: "webhookUrl is missing" },
  ]);
});
