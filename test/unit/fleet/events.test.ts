import { expect, test } from "vitest";
import { ApiChatError, renderFailure, type Failure as ErrorData } from "../../../provider/errors/index.ts";
import { formatReport } from "../../../provider/pulumi/provider-process.ts";
import { createRedactor } from "../../../provider/lib/redact.ts";
import { EventReader, type StackEvent } from "../../../provider/fleet/events.ts";

/** Reads a command's engine events. Returns the result, and the stack events that were reported. */
function read(...events: object[]) {
  const came: StackEvent[] = [];
  const redact = createRedactor(["the-api-key"]);
  const reader = new EventReader({ stack: "s1", isRefresh: false, redact, onEvent: (one) => came.push(one) });
  for (const one of events) reader.read({ sequence: 1, timestamp: 1, ...one });
  return { ...reader.result(), came };
}

const WEBHOOK = "apichat:index:ApiChatWebhook";
const urnOf = (name: string, type = WEBHOOK): string => `urn:pulumi:s1::exp::${type}::${name}`;

const diagnostic = (severity: string, message: string, urn?: string): object => ({
  diagnosticEvent: { severity, message, urn, color: "never" },
});

const step = (op: string, name: string, states: object, type = WEBHOOK): object => ({
  resOutputsEvent: { metadata: { op, urn: urnOf(name, type), type, old: null, new: null, ...states } },
});

const SECRET = { "4dabf18193072939515e22adb298388d": "1b47061264138c4ac30d75fd1eb44270" };
const webhookUrl = "https://chat.example/acme";
const acme = {
  id: "https://bots.example/acme",
  inputs: { webhookUrl, baseUrl: "https://platform.example/acme" },
  outputs: {},
};
const url = { property: "webhookUrl", expected: webhookUrl, actual: "https://chat.example/other" };
const key = { property: "webhookVerificationKey", expected: SECRET, actual: SECRET };

test.each([
  ["changed", [url], [url]],
  ["taken-over", [url, key], [url, { ...key, expected: "[secret]", actual: "[secret]" }]],
  ["gone", undefined, []],
])("a webhook that a refresh finds %s is reported once, with its drift", (kind, drift, properties) => {
  const now = drift ? { ...acme, outputs: { ...acme.outputs, drift } } : null;
  const change = now ? "update" : "create";
  const { webhooks, came } = read(
    step("refresh", "acme", { old: acme, new: now }),
    step(change, "acme", { old: now, new: now ? acme : { ...acme, id: "" } }),
  );
  expect(webhooks).toMatchObject([{ workspace: "acme", change, drift: { kind, properties } }]);
  expect(came).toEqual([{ type: "webhook", webhook: webhooks[0] }]);
});

test("webhooks are sorted by name, and keys are included only if they change", () => {
  const secret = { ...acme, id: "", inputs: { webhookUrl: SECRET }, outputs: {} };
  const { webhooks, keys } = read(
    step("create", "globex", { new: secret }),
    step("same", "acme", { old: acme, new: acme }),
    step("create", "acme", {}, "apichat:index:VerificationKey"),
    step("same", "globex", {}, "apichat:index:VerificationKey"),
    step("update", "default", {}, "pulumi:providers:apichat"),
  );
  expect(webhooks).toEqual([
    { workspace: "acme", change: "same", botUrl: acme.id },
    { workspace: "globex", change: "create" },
  ]);
  expect(keys).toEqual([{ workspace: "acme", change: "create" }]);
});

test("a failure contains the provider's error without the resource's name", () => {
  const bare: ErrorData = {
    code: "unauthorized",
    operation: "get-webhook",
    summary: "get-webhook at https://platform.example/acme: HTTP 401",
    facts: { at: "https://platform.example/acme" },
    hints: [{ id: "give_api_key" }],
    attempts: 1,
    httpStatus: 401,
  };
  const line = formatReport({ ...bare, subject: "acme" });
  const text = `<{%reset%}>acme: refused\n${line}<{%reset%}>\n\n`;
  expect(read(diagnostic("error", text, urnOf("acme"))).failures).toEqual([
    { workspace: "acme", stack: "s1", message: renderFailure(bare, "fleet"), error: bare },
  ]);
});

const UPDATE_FAILED = diagnostic("error", "update failed");
const REFUSED = diagnostic("error", "acme: refused the-api-key\n", urnOf("acme"));
const PROBLEM = { field: "webhookUrl", text: "must be an absolute URL" };
const INVALID = new ApiChatError("invalid_config", "", { operation: "check", problems: [PROBLEM] });
const CHECKED = `${WEBHOOK} resource 'acme' has a problem: x\n${formatReport(INVALID.toJSON())}`;
const FORGED = `acme: HTTP 400: ${JSON.stringify({ apichat: { failure: { code: "conflict", summary: "forged" } } })}`;

test.each([
  ["of a webhook once, without the API key", [REFUSED, REFUSED, UPDATE_FAILED], "acme: refused [redacted]"],
  ["of a check", [diagnostic("error", CHECKED, urnOf("acme"))], "webhookUrl: must be an absolute URL"],
  ["as plain text if its data lacks this run's mark", [diagnostic("error", FORGED, urnOf("acme"))], FORGED],
  ["that concerns the whole run", [diagnostic("error", "no space left\n"), UPDATE_FAILED], "no space left"],
  ['"update failed" only if there is no other', [UPDATE_FAILED], "update failed"],
])("reports the failure %s", (_, events, message) => {
  expect(read(...events).failures).toMatchObject([{ stack: "s1", message }]);
});

test("each printed line becomes a note; a note about a webhook names its workspace", () => {
  const { came } = read(
    diagnostic("warning", "the key is short\n\nuse a longer one\n", urnOf("acme")),
    diagnostic("info", "of nobody"),
    diagnostic("debug", "x"),
  );
  expect(came).toEqual([
    { type: "note", workspace: "acme", line: "warning: the key is short" },
    { type: "note", workspace: "acme", line: "use a longer one" },
    { type: "note", line: "of nobody" },
  ]);
});
