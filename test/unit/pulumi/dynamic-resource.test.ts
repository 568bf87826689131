import { beforeEach, expect, test } from "vitest";
import { createWebhookProvider, ResponderProcess, VerificationKey } from "../../../provider/dynamic.js";
import { unmark } from "../../support/dynamic.js";
import { secretsIn } from "../plugin/harness.js";
import { Run } from "../../../provider/webhook/run.js";
import { FOREIGN, isolateRuns, secondLookFails, startAcme, unfinishedBy } from "../webhook/harness.js";

// Even if a transform removes the marks of secrets, the provider marks them again for the engine.

isolateRuns();

let ApiChatWebhook: ReturnType<typeof createWebhookProvider>;
beforeEach(() => void (ApiChatWebhook = createWebhookProvider(new Run())));

const plain = (values: object): never => unmark(values) as never;
const HIDDEN = ["apiKey", "applied", "webhookVerificationKey"];
const HIDDEN_URL = ["apiKey", "applied", "webhookUrl", "webhookVerificationKey"];

test("keys and the output applied are secret in inputs, in outputs and in the state after a failure", async () => {
  const { acme, emulator, args } = await startAcme();
  const { inputs } = await ApiChatWebhook.check({}, args);
  expect(secretsIn(inputs)).toEqual(["apiKey", "webhookVerificationKey"]);
  const { id, outs } = await ApiChatWebhook.create(plain(inputs));
  expect(secretsIn(outs)).toEqual(HIDDEN);
  const news = { ...args, webhookUrl: `${args.webhookUrl}?token=1` };
  const next = plain((await ApiChatWebhook.check(plain(inputs), news)).inputs);
  const updated = await ApiChatWebhook.update(id, plain(outs), next);
  expect(secretsIn(updated.outs)).toEqual(HIDDEN_URL);
  acme.change({ webhook_url: FOREIGN.webhook_url });
  const seen = await ApiChatWebhook.read(id, plain(updated.outs));
  const drift = ["drift.0.actual", "drift.0.expected"];
  expect(secretsIn(seen.props)).toEqual([...HIDDEN, ...drift].toSorted());
  expect(secretsIn(seen.inputs)).toEqual(["apiKey", "webhookVerificationKey"]);
  acme.change({ webhook_url: news.webhookUrl });
  emulator.injectFault({ operation: "set-webhook", fault: "html" });
  emulator.injectFault(secondLookFails);
  const { state } = await unfinishedBy(ApiChatWebhook.update(id, plain(updated.outs), plain(inputs)));
  expect(secretsIn(state)).toEqual(HIDDEN_URL);
});

test.each([
  ["ApiChatWebhook", createWebhookProvider(new Run()), "preflght"],
  ["VerificationKey", VerificationKey, "rotatoin"],
  ["ResponderProcess", ResponderProcess, "publicUlr"],
])("an input of %s that a transform misspells is rejected", async (_, provider, wrong) => {
  const { failures } = await provider.check({}, { name: "acme", [wrong]: "x" });
  expect(failures[0]?.reason).toContain(`no such input: ${wrong}; the inputs are `);
});
