import { beforeEach, expect, test } from "vitest";
import { createWebhookProvider, ResponderProcess, VerificationKey } from "../../../provider/dynamic.js";
import { SEED } from "../../support/derived-keys.js";
import { unmark } from "../../support/dynamic.js";
import { acme as withAcme, argsOf, isolateRuns, KEY } from "../../support/responder-runs.js";
import { secretsIn } from "../plugin/harness.js";
import { Run } from "../../../provider/webhook/run.js";
import { FOREIGN, secondLookFails, startAcme } from "../webhook/harness.js";

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
  ["random", { rotation: "2026-12" }, []],
  ["given", { initial: KEY }, ["current", "initial", "keys"]],
  ["derived", { derivedFrom: SEED, rotations: ["2026-12"] }, ["current", "keys"]],
])("a %s verification key is marked everywhere", async (_, args, ofInputs) => {
  const { inputs } = await VerificationKey.check({}, { name: "acme", ...args });
  expect(markedIn(inputs)).toEqual(ofInputs);
  const { id, outs } = await VerificationKey.create(plain(inputs));
  const ofOutputs = [...new Set([...ofInputs, "current", "keys"])].toSorted();
  expect(markedIn(outs)).toEqual(ofOutputs);
  const { props } = (await VerificationKey.read(id, plain(outs))) as unknown as Seen;
  expect(markedIn(props)).toEqual(ofOutputs);
  const updated = await VerificationKey.update(id, plain(outs), plain({ ...inputs, keep: 0 }));
  expect(markedIn(updated.outs)).toEqual(ofOutputs);
});

test("a responder's keys are marked, and so is a target with a query", async () => {
  const given = withAcme({ forwardTo: "https://chat.example/?token=1" });
  const { inputs, failures } = await ResponderProcess.check({}, argsOf(given));
  expect(failures).toEqual([]);
  expect(markedIn(inputs)).toEqual(["workspaces.acme.forwardTo", "workspaces.acme.verificationKeys"]);
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
