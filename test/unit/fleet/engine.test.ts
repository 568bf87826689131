import { mkdir, readFile, writeFile } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { beforeEach, expect, it, vi } from "vitest";
import { resolveFleet } from "../../../provider/fleet/definition.ts";
import { Engine, type StackTask } from "../../../provider/fleet/engine.ts";
import { openFleet } from "../../../provider/fleet/fleet.ts";
import { outputOf, type PulumiEnd } from "../../../provider/fleet/pulumi.ts";
import { callWebhook } from "../../../provider/fleet/webhooks.ts";
import { NEVER } from "../../../provider/lib/abort.ts";
import { makeFolder } from "../../support/folder.ts";
import { listOf, randomKeyWebhook, webhookWith } from "./harness.ts";

// test/engine/fleet*.test.ts run these commands on a real engine.

let folder: string;
beforeEach(async () => {
  folder = await makeFolder();
  vi.stubEnv("PATH", `${folder}${delimiter}${process.env["PATH"]}`);
  vi.stubEnv("PULUMI_SKIP_CHECKPOINTS", undefined);
  return () => vi.unstubAllEnvs();
});

/** Replaces `pulumi` with a shell script. */
const standIn = (script: string): Promise<void> =>
  writeFile(join(folder, "pulumi"), `#!/bin/sh\n${script}\n`, { mode: 0o755 });

/** Writes a `pulumi` whose `up` runs this script, and whose states contain these pending operations. */
const answer = (up: string, operations = "[]", first = ":"): Promise<void> =>
  standIn(
    `${first}; case $1 in up) ${up};; stack) echo '{"deployment":{"pending_operations":${operations}}}';; esac`,
  );

const stringKeyWebhook = webhookWith("0123456789abcdefghij");

async function openEngine(webhook = stringKeyWebhook, environment: Record<string, string> = {}) {
  const workspaces = listOf(["acme"], { apiKey: "the-api-key" });
  const secretsProvider = "awskms://alias/fleet";
  const fleet = await resolveFleet({ name: "test", workspaces, webhook, folder, secretsProvider });
  await mkdir(fleet.folder, { recursive: true });
  const engine = new Engine(fleet, environment);
  const stack = { name: "test-0-of-1", workspaces: [...fleet.workspaces] };
  const task = { stack, webhooks: callWebhook(fleet, [stack]), signal: NEVER, onEvent: () => undefined };
  return (action: StackTask["action"], exists = true) =>
    engine.run({ ...task, action, exists, callsPerOrigin: 3 });
}

it("creates a stack with the definition's secrets provider", async () => {
  await standIn(`echo "$@" >> ${folder}/calls`);
  const run = await openEngine();
  await run("up", false);
  const called = /^stack init --no-select --secrets-provider awskms:\/\/alias\/fleet --stack test-0-of-1 /;
  expect(await readFile(join(folder, "calls"), "utf8")).toMatch(called);
});

it.each([
  ["no checkpoints for a stack without random keys", stringKeyWebhook, {}, "true"],
  ["checkpoints for a stack with a random key", randomKeyWebhook, {}, "false"],
  ["checkpoints if skipping is turned off", stringKeyWebhook, { PULUMI_SKIP_CHECKPOINTS: "false" }, "false"],
])("writes %s", async (_, webhook, environment, skipped) => {
  await answer(`printf %s "$PULUMI_SKIP_CHECKPOINTS" > ${folder}/skipped`);
  expect(await (await openEngine(webhook, environment))("up")).toMatchObject({ outcome: "done" });
  expect(await readFile(join(folder, "skipped"), "utf8")).toBe(skipped);
});

it("redacts an API key that the engine prints", async () => {
  await standIn("echo 'error: the-api-key?' >&2; exit 1");
  const failures = [{ stack: "test-0-of-1", message: "[redacted]?" }];
  expect(await (await openEngine())("up")).toMatchObject({ outcome: "failed", failures });
});

it("rejects destroy after a killed up, until an up has adopted the created webhooks", async () => {
  const run = await openEngine();
  await answer("kill -9 $$");
  expect((await run("up")).failures[0]?.message).toBe("pulumi was ended by a signal");
  expect((await run("destroy")).failures[0]?.message).toContain("run up first");
  await answer("exit 1");
  await run("up");
  expect(await run("destroy")).toMatchObject({ outcome: "failed" });
  await answer("exit 0");
  await run("up");
  expect(await run("destroy")).toMatchObject({ outcome: "done" });
  // On a different machine, only the state shows that an up was killed.
  await answer("exit 0", '[{"type":"creating","resource":{"urn":"urn:pulumi:s::p::t::acme"}}]');
  expect((await run("destroy")).failures[0]?.message).toMatch(/while it created acme, .* run up first/);
});

it.each<[string, Partial<PulumiEnd>, RegExp]>([
  ["a lock", { errors: "error: [409] Conflict" }, /^another run .*pulumi cancel --cwd \S+ --stack s1$/],
  ["the engine's output", { errors: "warning: old\nerror: no space left\n" }, /^no space left$/],
  ["how to log in", { code: 3, errors: "error: no token" }, /^no token; .*set PULUMI_BACKEND_URL/],
  ["an empty state file", { errors: "error: failed to load checkpoint: EOF" }, /^failed .*-empty -delete$/],
  ["the exit code if pulumi prints nothing", {}, /^pulumi exited with code 1$/],
])("the error for a failed command shows %s", (_, end, message) => {
  const call = { args: ["up", "--stack", "s1"], folder: "/fleet" };
  expect(() => outputOf({ call, code: 1, output: "", errors: "", ...end })).toThrow(message);
});

it.each([
  ["removes their pending creates if it writes checkpoints", randomKeyWebhook, "stack\nrefresh\n"],
  ["does not look for pending creates if it writes no checkpoints", stringKeyWebhook, ""],
])("an up that adopts a killed run's webhooks %s", async (_, webhook, calls) => {
  const note = `echo "$1" >> ${folder}/calls`;
  await answer(":", '[{"type":"creating","resource":{"urn":"urn:pulumi:s::p::t::acme"}}]', note);
  expect(await (await openEngine(webhook))("up")).toMatchObject({ outcome: "done" });
  expect(await readFile(join(folder, "calls"), "utf8")).toBe(`up\n${calls}`);
});

it("ends the engine if one of its events cannot be read, and reports the reason", async () => {
  const event = '{"sequence":1,"resOutputsEvent":{}}';
  await standIn(
    `trap 'echo ended >> ${folder}/end; exit 1' INT; echo '${event}'; while :; do sleep 0.1; done`,
  );
  const { outcome, failures } = await (await openEngine())("up");
  expect(outcome).toBe("failed");
  expect(failures).toMatchObject([{ stack: "test-0-of-1", message: expect.stringContaining("undefined") }]);
  expect(await readFile(join(folder, "end"), "utf8")).toBe("ended\n");
});

it.each([
  ["one for every 500 workspaces of a new fleet", 501, "test-index", 2],
  ["as many as the fleet already has in the backend", 501, "test-2-of-7", 7],
  ["one for a new fleet, even if another fleet has more stacks", 500, "other-2-of-7", 1],
])("chooses the number of stacks: %s", async (_, count, existing, stacks) => {
  await standIn(`echo '[{"name":"org/p/${existing}"}]'`);
  const workspaces = listOf(Array.from({ length: count }, (_one, index) => `w${index}`));
  const fleet = await openFleet({ name: "test", workspaces, webhook: stringKeyWebhook, folder });
  expect(fleet.stacks).toHaveLength(stacks);
});
