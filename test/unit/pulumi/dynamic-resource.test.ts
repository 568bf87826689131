import { beforeEach, expect, test } from "vitest";
import { createWebhookProvider, ResponderProcess, VerificationKey } from "../../../provider/dynamic.js";
import { unmark } from "../../support/dynamic.js";
import { secretsIn } from "../plugin/harness.js";
import { Run } from "../../../provider/webhook/run.js";
import { FOREIGN, isolateRuns, secondLookFails, startAcme } from "../webhook/harness.js";

// The engine receives values with their marks of secrets, whatever a transform changes.

isolateRuns();

let ApiChatWebhook: ReturnType<typeof createWebhookProvider>;
beforeEach(() => {
  ApiChatWebhook = createWebhookProvider(new Run());
});

type Values = Record<string, unknown>;
interface Seen {
  props: Values;
  inputs: Values;
}

const plain = (values: object): never => unmark(values) as never;
const markedIn = (values: unknown): string[] => secretsIn(values).toSorted();
const HIDDEN = ["apiKey", "applied", "webhookVerificationKey"];

test("a webhook's keys and its record are marked in inputs, outputs and the state of a failure", async () => {
  const { acme, emulator, args } = await startAcme();
  const { inputs } = await ApiChatWebhook.check({}, args);
  expect(markedIn(inputs)).toEqual(["apiKey", "webhookVerificationKey"]);
  const { id, outs } = await ApiChatWebhook.create(plain(inputs));
  expect(markedIn(outs)).toEqual(HIDDEN);
  const news = { ...args, webhookUrl: `${args.webhookUrl}?token=1` };
  const next = plain((await ApiChatWebhook.check(plain(inputs), news)).inputs);
  const updated = await ApiChatWebhook.update(id, plain(outs), next);
  expect(markedIn(updated.outs)).toEqual([...HIDDEN, "webhookUrl"].toSorted());
  acme.change({ webhook_url: FOREIGN.webhook_url });
  const seen = (await ApiChatWebhook.read(id, plain(updated.outs))) as unknown as Seen;
  const drift = ["drift.0.actual", "drift.0.expected"];
  expect(markedIn(seen.props)).toEqual([...HIDDEN, ...drift].toSorted());
  expect(markedIn(seen.inputs)).toEqual(["apiKey", "webhookVerificationKey"]);
  acme.change({ webhook_url: news.webhookUrl });
  emulator.injectFault({ operation: "set-webhook", fault: "html" });
  emulator.injectFault(secondLookFails);
  const failure: unknown = await ApiChatWebhook.update(id, plain(updated.outs), plain(inputs)).catch(
    (error: unknown) => error,
  );
  expect(markedIn((failure as { properties: Values }).properties)).toEqual(
    [...HIDDEN, "webhookUrl"].toSorted(),
  );
});

test.each([
  ["ApiChatWebhook", createWebhookProvider(new Run()), "preflght"],
  ["VerificationKey", VerificationKey, "rotatoin"],
  ["ResponderProcess", ResponderProcess, "publicUlr"],
])("an input of %s that a transform misspells is rejected", async (_, provider, wrong) => {
  const { failures } = await provider.check({}, { name: "acme", [wrong]: "x" });
  const reasons = failures.map(({ reason }) => reason);
  expect(reasons[0]).toContain(`no such input: ${wrong}; the inputs are `);
});
