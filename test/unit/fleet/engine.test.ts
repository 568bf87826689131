import { readdir, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it, vi } from "vitest";
import { resolveFleet, type FleetDefinition } from "../../../provider/fleet/definition.ts";
import { Engine, type StackTask } from "../../../provider/fleet/engine.ts";
import { killEngines } from "../../../provider/fleet/pulumi.ts";
import { NEVER } from "../../../provider/lib/abort.ts";
import { callWebhook } from "../../../provider/fleet/webhooks.ts";
import { randomKeyWebhook } from "./harness.ts";
import { answer, definitionOf, STACK, takeCalls, type Answer, useFakePulumi } from "./fake-pulumi.ts";

useFakePulumi();

async function openEngine(changes: Partial<FleetDefinition> = {}, environment: Record<string, string> = {}) {
  const fleet = await resolveFleet(definitionOf(changes));
  const engine = new Engine(fleet, environment);
  await engine.prepare();
  const stack = { name: STACK, index: 0, workspaces: [...fleet.workspaces] };
  return {
    engine,
    work: fleet.folder,
    run: (
      task: Omit<StackTask, "stack">,
      { exists = true, signal = NEVER }: { exists?: boolean; signal?: AbortSignal } = {},
    ) =>
      engine.run({ ...task, stack }, exists, {
        signal,
        onEvent: () => undefined,
        callsPerOrigin: 3,
        webhooks: callWebhook(fleet, [stack]),
      }),
  };
}

const eventLine = (content: object): string => JSON.stringify({ sequence: 1, timestamp: 1, ...content });
const printed = (message: string, severity = "info"): string =>
  eventLine({ diagnosticEvent: { severity, message, color: "never" } });
const EXPORTED = { lines: ['{"deployment":{}}'] };
const pending_operations = [{ type: "creating", resource: { urn: "urn:pulumi:s::p::t::acme" } }];
const PENDING = { lines: [JSON.stringify({ deployment: { pending_operations } })] };

describe("the engine's command for a stack", () => {
  it("removes the program files that killed runs have left, and none of a run of now", async () => {
    const { engine, work } = await openEngine();
    const id = "00000000-0000-4000-8000-000000000000";
    // The last one is of a writer that was killed.
    const old = [id, `Pulumi.yaml.${id}`];
    const fresh = [id.replace("4", "5"), `Pulumi.${STACK}.yaml`];
    await Promise.all([...old, ...fresh].map((name) => writeFile(join(work, name), "{}")));
    await Promise.all([...old, fresh[1] ?? ""].map((name) => utimes(join(work, name), 0, 0)));
    await engine.prepare();
    const left = await readdir(work);
    expect(left).toEqual(expect.arrayContaining(fresh));
    for (const name of old) expect(left).not.toContain(name);
  });

  it("makes a stack that is missing, and leaves none behind after a preview", async () => {
    const { run } = await openEngine({ secretsProvider: "awskms://alias/fleet" });
    await run({ action: "preview" }, { exists: false });
    expect((await takeCalls()).map(({ args }) => args)).toEqual([
      `stack init --no-select --secrets-provider awskms://alias/fleet --stack ${STACK}`,
      expect.stringMatching(/^preview/),
      `stack rm --yes --stack ${STACK}`,
    ]);
  });

  it.each([
    ["a stack with a random key", {}, { webhook: randomKeyWebhook }],
    ["those who ask for them", { PULUMI_SKIP_CHECKPOINTS: "false" }, {}],
  ])("writes checkpoints for %s", async (_, environment, changes) => {
    const { run } = await openEngine(changes, environment);
    expect(await run({ action: "up" })).toMatchObject({ outcome: "done" });
    expect((await takeCalls()).map(({ env }) => env["PULUMI_SKIP_CHECKPOINTS"])).toEqual(["false"]);
  });
});

describe("a stack that fails", () => {
  const LOCKED = `error: the stack is currently locked by 1 lock(s). Either wait for the other process(es) to end or delete the lock file with \`pulumi cancel\`.
  file:///state/locks/1.json: created by deploy@runner-7.example (pid 4711) at 2026-11-21T22:00:00Z
`;

  it.each([
    [
      "its lock's owner and the command, in one line",
      { errors: LOCKED, code: 1 },
      /^another run .* created by deploy@runner-7\.example \(pid 4711\).*pulumi cancel --cwd \S+\/test --stack test-0-of-1$/,
    ],
    [
      "a lock of Pulumi Cloud",
      { errors: "error: [409] Conflict: Another update is currently in progress.\n", code: 1 },
      /^another run .*pulumi cancel/,
    ],
    [
      "what the engine prints",
      { errors: "warning: old\nerror: no space left\n", code: 255 },
      /^no space left$/,
    ],
    [
      "how to log in",
      { errors: "error: PULUMI_ACCESS_TOKEN must be set for login\n", code: 1 },
      /set PULUMI_BACKEND_URL/,
    ],
    [
      "what an event says",
      { lines: [printed("the program threw", "error")], code: 1 },
      /^the program threw$/,
    ],
    [
      "no API key that an event names",
      { lines: [printed("refused the-api-key-of-acme", "error")], code: 1 },
      /^refused \[redacted\]$/,
    ],
    [
      "no API key that the engine prints",
      { errors: "error: the-api-key-of-acme?", code: 1 },
      /^\[redacted\]\?$/,
    ],
    ["the exit code alone", { code: 3 }, /^pulumi ended with exit code 3$/],
    ["the start of an event that was cut", { lines: ['{"sequence":7,"timest'], code: 1 }, /sequence/],
  ])("reports %s", async (_, given, message) => {
    await answer({ up: given });
    const report = await (await openEngine()).run({ action: "up" });
    expect(report).toMatchObject({
      outcome: "failed",
      failures: [{ stack: STACK, message: expect.stringMatching(message) }],
    });
  });
});

describe("after a killed up", () => {
  it("destroy refuses until an up has adopted what was created", async () => {
    await answer({ up: { interrupts: 0 }, "stack export": EXPORTED });
    const { run, work } = await openEngine();
    const killed = run({ action: "up" });
    await vi.waitFor(async () => expect(await takeCalls()).toHaveLength(1), { timeout: 20_000 });
    killEngines();
    expect((await killed).failures[0]?.message).toBe("pulumi ended by a signal");

    expect(await run({ action: "destroy" })).toMatchObject({
      failures: [{ message: expect.stringContaining("run up first") }],
    });
    await answer({ up: [{ code: 1 }, {}], "stack export": EXPORTED });
    await run({ action: "up" });
    expect(await run({ action: "destroy" })).toMatchObject({ outcome: "failed" });
    await run({ action: "up" });
    expect(await run({ action: "destroy" })).toMatchObject({ outcome: "done" });
    expect(await readdir(work)).toEqual([".gitignore", "Pulumi.yaml"]);
  });

  it("destroy refuses what the state calls pending", async () => {
    await answer({ "stack export": PENDING });
    const { failures } = await (await openEngine()).run({ action: "destroy" });
    expect(failures[0]?.message).toMatch(/while it created acme, .* run up first/);
    expect((await takeCalls()).map(({ args }) => args)).toEqual([`stack export --stack ${STACK}`]);
  });

  it.each([
    ["warns of it", { action: "up" }, { up: { lines: [printed("1 pending operations", "warning")] } }],
    ["refreshes first", { action: "up", refresh: true }, { "stack export": PENDING }],
  ] as const)("up forgets pending operations where the engine %s", async (_, task, answers) => {
    await answer(answers as unknown as Record<string, Answer>);
    await (await openEngine()).run(task);
    expect((await takeCalls()).at(-1)?.args).toContain("--clear-pending-creates");
  });
});
