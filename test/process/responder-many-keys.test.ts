import { randomBytes } from "node:crypto";
import { readFile, readdir, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { requestReload, requestStop, spoolOf } from "../../dist/provider/server/control-client.js";
import { cpuMsOf } from "../support/cpu.ts";
import { startReceiver } from "../support/receiver.ts";
import { SEED } from "../support/derived-keys.ts";
import { deliverTo } from "../support/responder.ts";
import { findSecrets } from "../support/secrets.ts";
import { makeHome, startResponder } from "./program.ts";

const WORKSPACES = 1000;

const makeKeys = (): string[] =>
  Array.from({ length: WORKSPACES }, () => randomBytes(32).toString("base64url"));

const [first, second, third] = [makeKeys(), makeKeys(), makeKeys()];
/** A secret other than a verification key: the token in a forwarding target's query. */
const TARGET_TOKEN = "token-of-the-target-0123456789";
const secrets = [...first, ...second, ...third, TARGET_TOKEN];

/** Each workspace has two keys, as during a rotation. Only the first workspace's deliveries are forwarded. */
const configOf = (current: string[], other: string[], forwardTo?: string): object => ({
  workspaces: Object.fromEntries(
    current.map((key, index) => [
      `w${index}`,
      { verificationKeys: [key, other[index]], ...(index === 0 && { forwardTo }) },
    ]),
  ),
});

describe("a responder for 1,000 workspaces with two keys each", () => {
  it("starts, rotates and stops, and shows no key outside its configuration", async () => {
    const receiver = await startReceiver();
    receiver.answerWith(500);
    const home = await makeHome(configOf(first, second, `${receiver.url}/?token=${TARGET_TOKEN}`));
    const { child, ended, instance, origin } = await startResponder(home, ["--instance", "many"]);
    expect(instance.instance).toBe("many");
    const log = (): Promise<string> => readFile(join(home.dataDir, "responder.log"), "utf8");
    expect(await deliverTo(`${origin}/w0`, first[0] ?? "")).toBe(200);
    await expect.poll(log).toContain('"not forwarded"');
    // The path is a key that somebody put into the URL by mistake. The log must not show the key.
    expect(await deliverTo(`${origin}/${first[7]}`, "another-key-0123456789")).toBe(404);
    expect(await log()).toContain('"event":"refused","status":404,"code":"not_found"');
    // The delivered message's text is "Hello"; the log must not contain it.
    expect(await log()).not.toContain("Hello");

    await home.configure(configOf(third, first));
    await requestReload(instance);
    expect(await deliverTo(`${origin}/w999`, third[999] ?? "")).toBe(200);
    expect(await deliverTo(`${origin}/w999?${third[998]}`, second[999] ?? "")).toBe(401);
    await home.configure(`{ "${third[0]}"`);
    await expect(requestReload(instance)).rejects.toMatchObject({ code: "invalid_config" });

    const places = [`/proc/${child.pid}/cmdline`, `/proc/${child.pid}/environ`];
    const texts = await Promise.all(places.map((place) => readFile(place, "latin1")));
    expect(await requestStop(instance)).toBe(true);
    expect(await ended).toMatchObject({ exitCode: 0, stdout: "", stderr: "" });
    const files = await readdir(home.dataDir);
    expect(files).toEqual(expect.arrayContaining(["responder.log", "spool.sqlite"]));
    for (const file of files) {
      // instance.json may contain `instance.token`. The reserve is 8 MiB of random bytes, and searching it
      // would take minutes.
      if (!["instance.json", "spool.sqlite-reserve"].includes(file))
        texts.push(await readFile(join(home.dataDir, file), "latin1"));
      expect([file, (await stat(join(home.dataDir, file))).mode & 0o077]).toEqual([file, 0]);
    }
    expect(findSecrets(texts.join("\n"), [...secrets, instance.token])).toEqual([]);
  });
});

/** On SIGUSR2, writes to stderr the CPU time of the event loop's longest turn since the last signal. */
const HOOK = `
  const cpuMs = () => {
    const { user, system } = (process.threadCpuUsage ?? process.cpuUsage).call(process);
    return (user + system) / 1000;
  };
  let [longest, last] = [0, cpuMs()];
  setInterval(() => {
    longest = Math.max(longest, cpuMs() - last);
    last = cpuMs();
  }, 1).unref();
  process.on("SIGUSR2", () => {
    console.error("longest " + longest);
    longest = 0;
  });`;

it("with 30,000 workspaces, no request, reload or retry blocks the event loop for long", async () => {
  const targets = Array.from({ length: 30_000 }, (_, index) => `http://127.0.0.1:9/${index}`);
  const workspaces = Object.fromEntries(targets.map((forwardTo, index) => [`w${index}`, { forwardTo }]));
  const config = { workspaces, derivedFrom: SEED, rotations: ["2026-12", "2026-09"] };
  const home = await makeHome(config);
  const hook = join(home.folder, "hook.mjs");
  await writeFile(hook, HOOK);
  const { child, instance, origin } = await startResponder(home, [], {
    environment: { NODE_OPTIONS: `--import=${hook}` },
  });
  let said = "";
  child.stderr?.on("data", (text) => (said += String(text)));
  const longestTurn = async (): Promise<number> => {
    said = "";
    child.kill("SIGUSR2");
    await expect.poll(() => said).toContain("longest ");
    return Number(/longest (\S+)/.exec(said)?.[1]);
  };
  // Reloads by a signal, as an operator does, and waits until the log reports the reload.
  const reload = async (): Promise<void> => {
    said = "";
    child.kill("SIGHUP");
    await expect.poll(() => said, { timeout: 60_000 }).toContain('"reloaded"');
  };
  const statusOf = async (path: string): Promise<number> => (await fetch(origin + path)).status;
  await expect.poll(() => statusOf("/readyz")).toBe(200);
  await longestTurn();
  const work: [what: string, begin: () => unknown][] = [
    ["a stranger's request", () => statusOf("/robots.txt")],
    ["a reload", reload],
    ["a retry", () => spoolOf(instance).retry()],
  ];
  const next = { ...config, workspaces: { ...workspaces, added: {} } };
  await home.configure(next);
  const text = JSON.stringify(next);
  // The longest turn contains the parsing of the whole file. An uninterrupted reload takes 13 times as long.
  const maxTurnMs = 5 * cpuMsOf(() => JSON.parse(text));
  for (const [what, begin] of work) {
    let longest = Infinity;
    // Up to three attempts, because other programs on the machine can make a turn longer.
    for (let round = 0; round < 3 && longest > maxTurnMs; round++) {
      await begin();
      expect(await statusOf("/readyz")).toBe(200);
      longest = await longestTurn();
    }
    expect([what, longest]).toEqual([what, expect.toSatisfy((ms: number) => ms <= maxTurnMs)]);
  }
  expect(await statusOf("/added")).toBe(405);
});
