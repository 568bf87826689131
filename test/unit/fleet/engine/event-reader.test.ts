import { readFileSync } from "node:fs";
import type { EngineEvent } from "@pulumi/pulumi/automation/index.js";
import { describe, expect, test } from "vitest";
import { renderFailure, type Failure as ErrorData } from "../../../../provider/errors/index.ts";
import { toWireLine } from "../../../../provider/lib/provider-process.ts";
import { createEventReader, type EventReader } from "../../../../provider/fleet/engine/event-reader.ts";
import type { StackEvent } from "../../../../provider/fleet/engine/task.ts";
import type { WebhookReport } from "../../../../provider/fleet/reports.ts";

/** Events of engine 3.259.0, recorded, without what nobody reads. */
const recorded = (name: "up" | "watch"): EngineEvent[] => {
  const file = new URL(`../../../fixtures/fleet/${name}-events.json`, import.meta.url);
  return JSON.parse(readFileSync(file, "utf8")) as EngineEvent[];
};

const readAll = (reader: EventReader, events: readonly EngineEvent[]): StackEvent[] =>
  events.flatMap((event) => reader.read(event));

const read = (events: readonly EngineEvent[]) => {
  const reader = createEventReader({ stack: "s1", action: "preview" });
  readAll(reader, events);
  return reader.result();
};

const event = (content: Record<string, unknown>): EngineEvent => ({ sequence: 1, timestamp: 1, ...content });

const diagnostic = (severity: string, message: string, urn?: string): EngineEvent =>
  event({ diagnosticEvent: { severity, message, urn, color: "never" } });

const WEBHOOK = "pulumi-nodejs:dynamic/apichat:ApiChatWebhook";
const urnOf = (name: string): string => `urn:pulumi:s1::exp::${WEBHOOK}::${name}`;
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

describe("reading the events of an up", () => {
  const reader = createEventReader({ stack: "s1", action: "up", rotation: "2026-12" });
  const told = readAll(reader, recorded("up"));
  const { webhooks, others = [], failures, notes } = reader.result();

  test("each webhook is told as it is done, and all of them by name in the end", () => {
    expect(told.map(({ type }) => type)).toEqual(Array.from({ length: 5 }, () => "webhook"));
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
  });

  test("a key is reported beside the webhooks, and what the engine says for those who debug it is skipped", () => {
    expect(others).toEqual([
      { name: "a", type: "pulumi-nodejs:dynamic/apichat:VerificationKey", change: "create" },
    ]);
    expect({ failures, notes }).toEqual({ failures: [], notes: [] });
  });
});

describe("reading the events of a preview with refresh", () => {
  const reader = createEventReader({ stack: "s1", action: "preview" });
  readAll(reader, recorded("watch"));
  const { webhooks, notes } = reader.result();
  const byName = Object.fromEntries(webhooks.map((webhook) => [webhook.workspace, webhook])) as Record<
    string,
    WebhookReport
  >;

  test("every kind of drift is told beside what the next up would do", () => {
    const found = webhooks.map(({ workspace, change, drift }) => [workspace, change, drift?.kind]);
    expect(found).toEqual([
      ["a", "update", "changed"],
      ["b", "update", "taken-over"],
      ["c", "update", "changed"],
      ["d", "create", "gone"],
      ["e", "same", undefined],
    ]);
    expect(byName["a"]?.drift?.properties).toEqual([
      {
        property: "webhookUrl",
        expected: "http://127.0.0.1:34737/a",
        actual: "http://127.0.0.1:34737/other",
      },
    ]);
  });

  test("a webhook that would be made has no bot URL and no status yet, and a line printed twice is one note", () => {
    expect(byName["d"]).not.toHaveProperty("botUrl");
    expect(byName["d"]).not.toHaveProperty("status");
    expect(notes.filter((line) => line.startsWith("b: webhookUrl changes"))).toHaveLength(1);
  });
});

const ofType = (type: string, op: string, name: string): EngineEvent => {
  const urn = `urn:pulumi:s1::exp::${type}::${name}`;
  return event({ resOutputsEvent: { metadata: { op, urn, type, old: null, new: null }, planning: true } });
};

describe("other resources", () => {
  const RESPONDER = "pulumi-nodejs:dynamic/apichat:ResponderProcess";

  test("are told if they change; the stack and its providers are the engine's, and a responder is its process", () => {
    const events = [
      ofType("pulumi:pulumi:Stack", "create", "exp-s1"),
      ofType("pulumi:providers:pulumi-nodejs", "create", "default"),
      ofType("apichat:index:HandshakeResponder", "create", "responder"),
      ofType(RESPONDER, "refresh", "responder"),
      ofType(RESPONDER, "create", "responder"),
      ofType(RESPONDER, "same", "another"),
    ];
    expect(read(events).others).toEqual([{ name: "responder", type: RESPONDER, change: "create" }]);
  });

  test("are left out if none changes", () => {
    expect(read([ofType(RESPONDER, "same", "another")])).not.toHaveProperty("others");
  });
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

describe("what the provider reports as data", () => {
  test("is a failure without the name of its resource, and with its data", () => {
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

  test("is a line with its text beside it", () => {
    const reader = createEventReader({ stack: "s1", action: "up" });
    const line = toWireLine({ note: { subject: "acme", text: "the key is short" } });
    expect(reader.read(diagnostic("info", `${line}\n`))).toEqual([
      { type: "note", line: "acme: the key is short", text: "the key is short" },
    ]);
    expect(reader.result().notes).toEqual(["acme: the key is short"]);
  });
});

describe("failures", () => {
  test("the failure of a webhook names its workspace, once", () => {
    const failed = diagnostic("error", "acme: the service refused the API key\n", urnOf("acme"));
    expect(read([failed, failed, diagnostic("error", "update failed")]).failures).toEqual([
      { workspace: "acme", stack: "s1", message: "acme: the service refused the API key" },
    ]);
  });

  test("what concerns the whole run counts only if nothing else does", () => {
    expect(
      read([diagnostic("error", "no space left\n"), diagnostic("error", "update failed")]).failures,
    ).toEqual([{ stack: "s1", message: "no space left" }]);
    expect(read([diagnostic("error", "update failed")]).failures).toEqual([
      { stack: "s1", message: "update failed" },
    ]);
  });

  test("the message of a check stands alone", () => {
    const text = `${WEBHOOK} resource 'acme' has a problem: webhookUrl: must be an absolute URL`;
    expect(read([diagnostic("error", text, urnOf("acme"))]).failures).toMatchObject([
      { message: "webhookUrl: must be an absolute URL" },
    ]);
  });
});

test("the warning of operations that were ended in the middle is told, and is no note", () => {
  const reader = createEventReader({ stack: "s1", action: "up" });
  expect(reader.hasPending()).toBe(false);
  readAll(reader, [
    diagnostic(
      "warning",
      "Attempting to deploy or update resources with 1 pending operations from previous deployment.\n  * urn, interrupted while creating",
    ),
  ]);
  expect(reader.hasPending()).toBe(true);
  expect(reader.result().notes).toEqual([]);
});
