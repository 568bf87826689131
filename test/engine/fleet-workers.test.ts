import type { IncomingMessage, ServerResponse } from "node:http";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { execa } from "execa";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { createWorkers } from "../../dist/provider/fleet/engine/workers.js";
import type { StackEvent, StackTask, Workers, ProgramTask } from "../../dist/provider/fleet/engine/task.js";
import type { StackReport, WebhookReport } from "../../dist/provider/fleet/reports.js";
import { API_KEY } from "../support/endpoint.ts";
import { processesOf } from "../support/processes.ts";
import { callsOf, openScene, QUERY_VALUE, registeredWorkspaces, type Scene } from "../support/scene.ts";
import { findSecrets } from "../support/secrets.ts";

const HOUR_MS = 3_600_000;
const names = ["gone", "key", "query", "status", "taken", "url"];
const FOREIGN_KEY = "the-key-of-somebody-else";
const place = { project: "fleet", stack: "production-0-of-2" };
const index = { project: "fleet", stack: "production-index" };

let scene: Scene;
let workers: Workers;
const reports: StackReport[] = [];
let broken: string | undefined;

beforeAll(async () => {
  scene = await openScene(names);
  scene.endpoint.answerWith((request, response) => void answerHandshake(request, response));
  workers = createWorkers({ size: 2, environment: environmentOf(scene) });
});
afterAll(async () => {
  await workers.close();
  await scene.close();
});

const environmentOf = ({ backend }: Scene): Record<string, string> => ({
  ...backend.environment,
  APICHAT_API_KEY: API_KEY,
  APICHAT_TEST_RUN: backend.folder,
});

/** Gives the challenge back whatever the key is, but for the workspace whose endpoint is broken. */
async function answerHandshake(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const body = await text(request);
  const url = new URL(request.url ?? "/", scene.endpoint.url);
  const isJson = request.headers["content-type"]?.includes("json") === true;
  const sent = isJson
    ? Object.entries(JSON.parse(body) as Record<string, string>)
    : new URLSearchParams(body);
  const challenge = new Map([...url.searchParams, ...sent]).get("hub_challenge");
  response.statusCode = url.pathname === `/${broken}` ? 404 : 200;
  response.end(response.statusCode === 200 ? challenge : "");
}

const programOf = (file: string): string => new URL(`../fixtures/fleet/${file}`, import.meta.url).href;

const urlOf = (name: string): string =>
  `${scene.endpoint.url}/${name}${name === "query" ? `?token=${QUERY_VALUE}` : ""}`;

const listed = (listedNames: readonly string[] = names) =>
  listedNames.map((name) => ({
    name,
    baseUrl: scene.emulator.workspace(name).baseUrl,
    webhookUrl: urlOf(name),
    apiKey: API_KEY,
  }));

const up = (more: Partial<ProgramTask> = {}): ProgramTask => ({
  ...place,
  action: "up",
  program: programOf("program.js"),
  index: 0,
  workspaces: listed(),
  ...more,
});

const watch = (): StackTask => up({ action: "preview", refresh: true, expectNoChanges: true });

async function run(
  task: StackTask,
  options: { signal?: AbortSignal; onEvent?: (event: StackEvent) => void } = {},
): Promise<StackReport> {
  const report = await workers.run(task, {
    signal: options.signal ?? new AbortController().signal,
    onEvent: options.onEvent ?? (() => undefined),
  });
  reports.push(report);
  return report;
}

const changesOf = ({ webhooks }: StackReport): Record<string, string> =>
  Object.fromEntries(webhooks.map(({ workspace, change }) => [workspace, change]));

const allWith = (change: string): Record<string, string> =>
  Object.fromEntries(names.map((name) => [name, change]));

const webhookOf = (report: StackReport, name: string): WebhookReport | undefined =>
  report.webhooks.find(({ workspace }) => workspace === name);

/** Removes every registration behind the engine's back, so that the next up with refresh creates them all. */
const removeAll = (): void => names.forEach((name) => scene.emulator.workspace(name).remove());

/** Starts an up that has to create every webhook, and waits until the service holds the set-webhook of one of them. */
const startHeld = async (delayMs: number, signal?: AbortSignal): Promise<{ done: Promise<StackReport> }> => {
  removeAll();
  const before = callsOf(scene, "set-webhook", "url").length;
  scene.emulator.injectFault({ operation: "set-webhook", workspace: "url", fault: { delayMs } });
  const done = run(up({ refresh: true }), signal ? { signal } : {});
  await vi.waitUntil(() => callsOf(scene, "set-webhook", "url").length > before, { timeout: 60_000 });
  return { done };
};

const expectConverged = async (): Promise<void> => {
  scene.emulator.clearFaults();
  const report = await run(up({ refresh: true }));
  expect(report).toMatchObject({ outcome: "done", failures: [] });
  expect(registeredWorkspaces(scene)).toEqual(names);
  const seen = await run(watch());
  expect(changesOf(seen)).toEqual(allWith("same"));
  expect(seen.notes.join()).not.toContain("pending");
};

const ofThisRun = () => processesOf({ name: "APICHAT_TEST_RUN", value: scene.backend.folder });

const url = (expected: string, actual: string) => ({ property: "webhookUrl", expected, actual });

describe("a stack of a fleet", () => {
  test("a plan of a stack that does not exist creates none, and neither do refresh and destroy", async () => {
    expect(await run(up({ action: "preview" }))).toMatchObject({ outcome: "done", failures: [] });
    for (const action of ["refresh", "destroy"] as const) {
      const task = { ...place, action, program: programOf("program.js") };
      expect(await run(task)).toMatchObject({ outcome: "done", webhooks: [], failures: [] });
    }
    expect(await workers.listStacks("fleet")).toEqual([]);
    expect(callsOf(scene, "set-webhook")).toEqual([]);
  });

  test("up with one broken endpoint: the others are done, and the failure names the workspace", async () => {
    broken = "gone";
    const events: StackEvent[] = [];
    const report = await run(up(), { onEvent: (event) => events.push(event) });
    expect(report).toMatchObject({
      stack: place.stack,
      outcome: "failed",
      failures: [
        {
          workspace: "gone",
          stack: place.stack,
          message: expect.stringMatching(/^gone: .*HTTP 404/) as string,
        },
      ],
      notes: [`declaring ${place.stack}`],
    });
    expect(registeredWorkspaces(scene)).toEqual(names.filter((name) => name !== "gone"));
    expect(webhookOf(report, "url")).toEqual({
      workspace: "url",
      change: "create",
      botUrl: scene.emulator.workspace("url").registration?.bot_url,
      status: "verified",
      baseUrl: scene.emulator.workspace("url").baseUrl,
      webhookUrl: urlOf("url"),
    });
    expect(events.filter(({ type }) => type === "webhook")).toHaveLength(names.length - 1);
    expect(events.filter(({ type }) => type === "failure")).toHaveLength(1);
  });

  test("up again creates what is missing", async () => {
    broken = undefined;
    const report = await run(up());
    expect(report).toMatchObject({ outcome: "done", failures: [] });
    expect(changesOf(report)).toEqual({ ...allWith("same"), gone: "create" });
  });

  test("a preview with refresh tells each kind of drift, and writes nothing", async () => {
    const workspace = (name: string) => scene.emulator.workspace(name);
    workspace("url").change({ webhook_url: `${scene.endpoint.url}/by-hand` });
    workspace("query").change({ webhook_url: `${scene.endpoint.url}/by-hand?token=${QUERY_VALUE}` });
    workspace("key").change({ webhook_verification_key: FOREIGN_KEY });
    workspace("taken").takeOver({
      webhook_url: "https://else.example/hook",
      webhook_verification_key: FOREIGN_KEY,
    });
    workspace("status").change({ webhook_status: "failed" });
    workspace("gone").remove();
    const before = callsOf(scene, "set-webhook").length;
    const report = await run(watch());
    expect(report).toMatchObject({ outcome: "done", failures: [] });
    const key = { property: "webhookVerificationKey", expected: "[secret]", actual: "[secret]" };
    expect(Object.fromEntries(report.webhooks.map(({ workspace: name, drift }) => [name, drift]))).toEqual({
      url: { kind: "changed", properties: [url(urlOf("url"), `${scene.endpoint.url}/by-hand`)] },
      query: {
        kind: "changed",
        properties: [url(`${scene.endpoint.url}/query?token=***`, `${scene.endpoint.url}/by-hand?token=***`)],
      },
      key: { kind: "changed", properties: [key] },
      taken: { kind: "taken-over", properties: [url(urlOf("taken"), "https://else.example/hook"), key] },
      status: {
        kind: "changed",
        properties: [{ property: "status", expected: "verified", actual: "failed" }],
      },
      gone: { kind: "gone", properties: [url(urlOf("gone"), "(nothing is registered)")] },
    });
    expect(changesOf(report)).toEqual({ ...allWith("update"), gone: "create" });
    expect(callsOf(scene, "set-webhook")).toHaveLength(before);
    expect(await run(watch())).toMatchObject({ webhooks: report.webhooks });
  });

  test("up with refresh repairs it, but for what somebody else has taken over", async () => {
    const report = await run(up({ refresh: true, rotation: "2026-12" }));
    expect(report).toMatchObject({ outcome: "failed", failures: [{ workspace: "taken" }] });
    expect(webhookOf(report, "url")).toMatchObject({ isRotated: true, change: "update" });
    scene.emulator.workspace("taken").remove();
    const repaired = await run(up({ refresh: true, rotation: "2026-12" }));
    expect(repaired).toMatchObject({ outcome: "done" });
    expect(repaired.webhooks.map(({ isRotated }) => isRotated)).toEqual(names.map(() => true));
    const next = await run(up({ action: "preview", rotation: "2027-01" }));
    expect(next.webhooks.map(({ isRotated }) => isRotated)).toEqual(names.map(() => true));
    expect(await run(watch())).toMatchObject({ outcome: "done", failures: [] });
  });

  test("refresh tells what it recorded", async () => {
    const report = await run({ ...place, action: "refresh", program: programOf("program.js") });
    expect(report).toMatchObject({ outcome: "done", failures: [] });
    expect(changesOf(report)).toEqual(allWith("same"));
  });
});

describe("a run that is ended in the middle", () => {
  test("a stop lets the engine finish what is under way, and the next run goes on", async () => {
    const stop = new AbortController();
    const { done } = await startHeld(2_000, stop.signal);
    stop.abort();
    const report = await done;
    expect(report).toMatchObject({ outcome: "stopped", failures: [] });
    expect(webhookOf(report, "url")).toMatchObject({ change: "create", status: "verified" });
    await expectConverged();
  });

  test("a stop before the engine has begun is not lost", async () => {
    const report = await run(up(), { signal: AbortSignal.abort() });
    expect(report).toMatchObject({ outcome: "stopped", webhooks: [], failures: [] });
  });

  test("kill -9 of worker, engine and provider: the next run removes their lock and converges", async () => {
    const { done } = await startHeld(HOUR_MS);
    for (const { pid } of await ofThisRun()) process.kill(pid, "SIGKILL");
    expect(await done).toMatchObject({
      outcome: "failed",
      failures: [
        { message: expect.stringContaining("the process that ran the program ended by SIGKILL") as string },
      ],
    });
    const destroyed = await run({ ...place, action: "destroy", program: programOf("program.js") });
    expect(destroyed.failures).toMatchObject([
      {
        message: expect.stringMatching(
          /was killed while it created .*\burl\b.*, so nothing was removed/,
        ) as string,
      },
    ]);
    await expectConverged();
  });
});

describe("the main process ends", () => {
  const MAIN = `
    import { createWorkers } from "${import.meta.resolve("../../dist/provider/fleet/engine/workers.js")}";
    const { environment, task } = JSON.parse(process.env.TEST_INPUT);
    const options = { signal: new AbortController().signal, onEvent: () => undefined };
    await createWorkers({ size: 1, environment }).run(task, options);`;

  test("kill -9 of it: the engine is stopped, and leaves neither lock nor process behind", async () => {
    removeAll();
    const before = callsOf(scene, "set-webhook", "url").length;
    scene.emulator.injectFault({ operation: "set-webhook", workspace: "url", fault: { delayMs: 2_000 } });
    const mark = { name: "APICHAT_TEST_MAIN", value: scene.backend.folder };
    const environment = { ...environmentOf(scene), [mark.name]: mark.value };
    const input = JSON.stringify({ environment, task: up({ refresh: true }) });
    const main = execa(process.execPath, ["--input-type=module", "-e", MAIN], {
      env: { TEST_INPUT: input },
      reject: false,
    });
    await vi.waitUntil(() => callsOf(scene, "set-webhook", "url").length > before, { timeout: 60_000 });
    main.kill("SIGKILL");
    await vi.waitUntil(async () => (await processesOf(mark)).length === 0, { timeout: 60_000 });
    scene.emulator.clearFaults();
    expect(
      await readdir(join(scene.backend.folder, ".pulumi", "locks"), { recursive: true }),
    ).not.toContainEqual(expect.stringMatching(/\.json$/));
    expect(await run(up({ refresh: true }))).toMatchObject({ outcome: "done", failures: [] });
    expect(registeredWorkspaces(scene)).toEqual(names);
  });
});

describe("a program with a mistake", () => {
  const other = { stack: "production-1-of-2" };

  test.each([
    ["without-program.js", /has no function as its default export/],
    ["missing.js", /Cannot find module/],
    ["throwing.js", /^the program failed: no such table, asked with \[redacted\]$/],
    ["exiting.js", /^the process that ran the program ended with exit code 3: Error: the licence has ended$/],
  ])("%s: the failure says what is wrong", async (file, message) => {
    const report = await run(up({ ...other, program: programOf(file) }));
    expect(report).toMatchObject({
      outcome: "failed",
      failures: [{ message: expect.stringMatching(message) as string }],
    });
  });

  test("a workspace that it forgets keeps its webhook, and is named", async () => {
    const report = await run(up({ program: programOf("incomplete.js") }));
    expect(report).toMatchObject({
      outcome: "failed",
      failures: [{ workspace: names[0], message: expect.stringContaining("gives no webhook for") as string }],
    });
    expect(registeredWorkspaces(scene)).toEqual(names);
  });

  test("the next program runs all the same", async () => {
    expect(await run(watch())).toMatchObject({ outcome: "done", failures: [] });
  });
});

describe("the index stack", () => {
  const written = { botUrls: { url: "https://bots.example/1" }, stackOf: { url: place.stack } };

  test("what is written is read, and found among the stacks", async () => {
    expect(await workers.readIndex(index)).toBeUndefined();
    await workers.writeIndex(index, { botUrls: { gone: "https://bots.example/0" }, stackOf: {} });
    await workers.writeIndex(index, written);
    expect(await workers.readIndex(index)).toEqual(written);
    expect(await workers.listStacks("fleet")).toContain(index.stack);
    expect(await workers.listStacks("another")).toEqual([]);
    await workers.removeIndex(index);
    expect(await workers.readIndex(index)).toBeUndefined();
  });

  test("a command that is not there is explained", async () => {
    const without = createWorkers({ size: 1, environment: { PATH: "/nowhere" } });
    await expect(without.listStacks("fleet")).rejects.toMatchObject({
      code: "unavailable",
      message: expect.stringContaining("the command pulumi is not on PATH: install it") as string,
    });
    await without.close();
  });
});

describe("in the end", () => {
  test("destroy removes the webhooks and the stack", async () => {
    const report = await run({ ...place, action: "destroy", program: programOf("program.js") });
    expect(report).toMatchObject({ outcome: "done", failures: [] });
    expect(changesOf(report)).toEqual(allWith("delete"));
    expect(registeredWorkspaces(scene)).toEqual([]);
    expect(await workers.listStacks("fleet")).not.toContain(place.stack);
  });

  test("no report held a secret", () => {
    expect(findSecrets(JSON.stringify(reports), [API_KEY, QUERY_VALUE, FOREIGN_KEY])).toEqual([]);
  });
});
