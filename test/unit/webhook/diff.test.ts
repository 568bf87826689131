import { runtime } from "@pulumi/pulumi";
import { expect, test, vi } from "vitest";
import { UNKNOWN } from "../../../provider/pulumi/unknown.js";
import { providerSource } from "../../../provider/pulumi/class-arguments.js";
import { diffWebhook } from "../../../provider/webhook/inputs.js";
import {
  DRIFTED_KEY,
  toWebhookState,
  type WebhookInputs,
  type WebhookState,
} from "../../../provider/webhook/state.js";
import { API_KEY, VERIFICATION_KEY, currentRun, isolateRuns } from "./harness.js";

const lines = isolateRuns();

const SEEN = {
  webhookUrl: "https://chat.example/hook",
  webhookVerificationKey: VERIFICATION_KEY,
  status: "verified",
  botUrl: "https://bots.example/api/apichat/f1",
};
const INPUTS: WebhookInputs = {
  name: "acme",
  baseUrl: "https://platform.example/",
  webhookUrl: SEEN.webhookUrl,
  webhookVerificationKey: VERIFICATION_KEY,
  status: "verified",
  __provider: "source",
};

const stateWith = (more: Partial<WebhookInputs> = {}): WebhookState =>
  toWebhookState({ ...INPUTS, ...more }, SEEN, { apiKey: API_KEY, claimId: "c1" });
const STATE = stateWith();

const diff = (change: Partial<WebhookInputs>, state = STATE) =>
  diffWebhook(state, { ...INPUTS, ...change }, { run: currentRun() });

test("diff ignores a change to the provider's source, and compares objects by value", () => {
  const none = { changes: false, changed: [], deleteBeforeReplace: false };
  expect(diff({ __provider: "of another version" })).toEqual(none);
  const withTimeouts = stateWith({ timeouts: { readySeconds: 3 } });
  expect(diff({ timeouts: { readySeconds: 3 } }, withTimeouts)).toEqual(none);
  expect(lines).toEqual([]);
});

test.each<Partial<WebhookInputs>>([
  { name: "renamed-with-an-alias" },
  { baseUrl: "https://moved.example/" },
  { webhookUrl: "https://moved.example/" },
  { webhookVerificationKey: "another-key-0123456" },
  { apiKey: API_KEY },
  { onExisting: "replace" },
  { preflight: "off" },
  { timeouts: { readySeconds: 1 } },
  { webhookUrl: UNKNOWN },
  { webhookVerificationKey: UNKNOWN },
])("diff reports a change to %j as an update, never as a replacement", (change) =>
  expect(diff(change)).toEqual({ changes: true, changed: Object.keys(change), deleteBeforeReplace: false }),
);

test.each<[string, Partial<WebhookState>]>([
  ["status", { status: "failed" }],
  ["webhookVerificationKey", { drift: [DRIFTED_KEY] }],
  ["botUrl", { botUrl: "https://new-bots.example/api/apichat/f1" }],
  ["webhookUrl", { webhookUrl: "https://drifted.example/" }],
  ["webhookUrl", { applied: { ...STATE.applied, attempted: ["https://attempted.example/"] } }],
])("diff compares with the recorded %s: %j", (name, recorded) =>
  expect(diff({}, { ...STATE, ...recorded }).changed).toEqual([name]),
);

test("diff reports __provider as changed if the state lacks it, like a state of the plugin", () => {
  const { __provider: _, ...state } = STATE;
  expect(diff({}, state).changed).toEqual(["__provider"]);
});

test("diff reports an API key from the environment that differs from the last one used", () => {
  vi.stubEnv("APICHAT_API_KEY", "ak-rotated-0123456789");
  expect(diff({}).changed).toEqual(["apiKey"]);
});

test("diff prints a line for changes that a preview hides", () => {
  diff({ webhookVerificationKey: "another-key-0123456" });
  diff({}, { ...STATE, drift: [DRIFTED_KEY] });
  diff({ apiKey: API_KEY });
  diff({ webhookUrl: "https://chat.example/hook?token=query-value" });
  expect(lines).toEqual([
    "acme: webhookVerificationKey changes",
    "acme: webhookVerificationKey: the service has a different key",
    "acme: apiKey changes",
    "acme: webhookUrl changes: https://chat.example/hook => https://chat.example/hook?token=***",
  ]);
});

test("diff fails if another unchanged state of this run holds the same bot, even under the same name", () => {
  const twin = { ...STATE, applied: { ...STATE.applied, claimId: "c2" } };
  diff({}, twin);
  currentRun().declare({ ...INPUTS, apiKey: API_KEY }, "acme");
  diff({ preflight: "off" }, twin);
  for (const _ of [1, 2]) expect(diff({}).changes).toBe(false);
  expect(() => diff({}, twin)).toThrow(/"acme" and "acme"/);
});

test("UNKNOWN and the provider's source stay as existing states contain them", () => {
  expect(UNKNOWN).toBe(runtime.unknownValue);
  expect(providerSource("ApiChatWebhook")).toBe(
    'exports.handler=()=>{try{return require("pulumi-apichat/dynamic").ApiChatWebhook}catch(e){throw Object.assign(Error("npm install pulumi-apichat, on Node 22.19+: "+e),{stack:""})}}',
  );
});
