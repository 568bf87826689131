import { execa } from "execa";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { expect, test, vi } from "vitest";
import { makeFakeGo } from "./fixtures/fakes.ts";

const script = fileURLToPath(new URL("fixtures/resolve-with-go.ts", import.meta.url));
const patience = { timeout: 15_000, interval: 20 };

function startRun(env: NodeJS.ProcessEnv) {
  const child = execa(process.execPath, [script], { env, extendEnv: false, reject: false });
  let stderr = "";
  child.stderr.on("data", (chunk: Buffer) => (stderr += chunk.toString()));
  return { child, stderr: () => stderr };
}

/** The process ids of the builds so far. */
function builds(log: string): number[] {
  return existsSync(log) ? readFileSync(log, "utf8").trim().split("\n").map(Number) : [];
}

function groupIsAlive(id: number): boolean {
  try {
    return process.kill(-id, 0);
  } catch {
    return false;
  }
}

function cacheNames(cache: string): string[] {
  return readdirSync(join(cache, "pulumi-apichat", "engine"));
}

test("of two runs at once one builds, the other waits, says so, and takes the same engine", async () => {
  const { env, cache, log, gate } = makeFakeGo();
  const first = startRun(env);
  await vi.waitUntil(() => builds(log).length === 1, patience);
  const second = startRun(env);
  await vi.waitUntil(() => second.stderr().includes("Waiting for process"), patience);
  expect(second.stderr()).toContain(`process ${first.child.pid}, `);
  writeFileSync(gate, "");
  const [one, two] = await Promise.all([first.child, second.child]);
  expect([one.exitCode, two.exitCode]).toEqual([0, 0]);
  expect(two.stdout).toBe(one.stdout);
  expect(existsSync(one.stdout)).toBe(true);
  expect(builds(log)).toHaveLength(2); // the CLI and its host, once each
  expect(cacheNames(cache)).toHaveLength(1);
}, 30_000);

test("Ctrl-C in a build ends the compiler with its children and leaves neither half an engine nor a lock", async () => {
  const { env, cache, log, gate } = makeFakeGo();
  const { child } = startRun(env);
  await vi.waitUntil(() => builds(log).length === 1, patience);
  const [compiler = 0] = builds(log);
  expect(groupIsAlive(compiler)).toBe(true);
  child.kill("SIGINT");
  expect((await child).exitCode).toBe(130);
  expect(groupIsAlive(compiler)).toBe(false);
  expect(cacheNames(cache)).toEqual([]);
  writeFileSync(gate, "");
  expect((await startRun(env).child).exitCode).toBe(0);
}, 30_000);

test("the lock and the half engine of a killed run are cleared away by the next", async () => {
  const { env, cache, log, gate } = makeFakeGo();
  const { child } = startRun(env);
  await vi.waitUntil(() => builds(log).length === 1, patience);
  child.kill("SIGKILL");
  await child;
  process.kill(-(builds(log)[0] ?? 0), "SIGKILL");
  expect(cacheNames(cache)).toHaveLength(2);
  writeFileSync(gate, "");
  expect((await startRun(env).child).exitCode).toBe(0);
  expect(cacheNames(cache)).toHaveLength(1);
}, 30_000);
