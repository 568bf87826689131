import { execFile } from "node:child_process";
import { once } from "node:events";
import { open, rm, writeFile } from "node:fs/promises";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { isResponding, spoolOf } from "../../dist/provider/server/control-client.js";
import { freePort } from "../support/http.ts";
import { startReceiver } from "../support/receiver.ts";
import { deliverTo } from "../support/responder.ts";
import { findSecrets } from "../support/secrets.ts";
import { countsOf, KEY, makeHome, run, SECOND_KEY, startProgram, startResponder } from "./program.ts";

describe("the responder as a process", () => {
  it("serves until SIGTERM, logs its start and its stop as JSON lines on stderr, and exits with 0", async () => {
    const home = await makeHome();
    const { child, ended, origin } = await startResponder(home);
    expect(await (await fetch(`${origin}/healthz`)).json()).toEqual({ status: "ok" });
    expect(await deliverTo(`${origin}/acme`, KEY)).toBe(200);
    child.kill("SIGTERM");
    const said = await ended;
    expect(said).toMatchObject({ exitCode: 0, signal: null, stdout: "" });
    const lines = said.stderr.trimEnd().split("\n");
    const events = lines.map((line) => JSON.parse(line) as { level: string; event: string });
    const names = events.filter(({ level }) => level === "info").map(({ event }) => event);
    expect(names).toEqual(["started", "stopping", "stopped"]);
  });

  it("on a terminal (simulated), prints the URLs to register", async () => {
    const acme = { verificationKeys: KEY };
    const workspaces = { acme, globex: { verificationKeys: SECOND_KEY, path: "/o/globex" } };
    const home = await makeHome({ host: "0.0.0.0", port: await freePort(), workspaces });
    const hook = join(home.folder, "terminal.mjs");
    await writeFile(hook, "process.stderr.isTTY = true;");
    const environment = { NODE_OPTIONS: `--import=${hook}` };
    const { child, ended, origin } = await startResponder(home, [], { environment });
    child.kill("SIGTERM");
    expect((await ended).stderr).toMatch(
      `webhook URL of acme: ${origin}/acme\nwebhook URL of globex: ${origin}/o/globex\n{`,
    );
  });

  it("after SIGTERM, accepts deliveries for --drain-seconds but is not ready; on Ctrl-C, ends at once", async () => {
    const parameters = ["--drain-seconds", "3600"];
    const { child, ended, origin } = await startResponder(await makeHome(), parameters);
    const statusOf = async (path: string): Promise<number> => (await fetch(origin + path)).status;
    expect(await statusOf("/readyz")).toBe(200);
    child.kill("SIGTERM");
    await expect.poll(() => statusOf("/readyz")).toBe(503);
    expect([await deliverTo(`${origin}/acme`, KEY), await statusOf("/healthz")]).toEqual([200, 200]);
    child.kill("SIGINT");
    const said = await ended;
    expect(said.exitCode).toBe(0);
    expect(said.stderr).toMatch(/"draining"[^]*"stopping"[^]*"stopped"/);

    const short = await startResponder(await makeHome(), ["--drain-seconds", "0.5"]);
    short.child.kill("SIGTERM");
    expect(await short.ended).toMatchObject({ exitCode: 0, signal: null });
  });

  it("loses no acknowledged delivery when killed under load, and keeps conversations in order", async () => {
    const receiver = await startReceiver();
    const workspaces = { acme: { verificationKeys: KEY, forwardTo: receiver.url } };
    const home = await makeHome({ port: await freePort(), workspaces });
    const acknowledged: string[] = [];
    for (let round = 0; round < 2; round++) {
      const { child, ended, origin } = await startResponder(home);
      const until = acknowledged.length + 100 + round * 100;
      /** Sends deliveries of one conversation until the responder has ended. */
      const send = async (conversation: number): Promise<void> => {
        for (let number = 0; ; number++) {
          const message = { conv_id: conversation, text: String(number) };
          const status = await deliverTo(`${origin}/acme`, KEY, message).catch(() => undefined);
          if (status === undefined) return;
          if (status === 200) acknowledged.push(`${conversation}/${number}`);
          if (acknowledged.length >= until) child.kill("SIGKILL");
        }
      };
      await Promise.all(Array.from({ length: 16 }, (_, sender) => send(round * 100 + sender)));
      await ended;
    }
    const { instance } = await startResponder(home);
    await expect.poll(() => countsOf(home).pending).toBe(0);
    // A delivery that was forwarded just before a kill may be forwarded again, so duplicates are dropped.
    const received = new Set(
      receiver.received.map(({ body }) => {
        const { conv_id, text } = JSON.parse(body.toString()) as { conv_id: number; text: string };
        return `${conv_id}/${text}`;
      }),
    );
    expect(acknowledged.filter((name) => !received.has(name))).toEqual([]);
    // Deliveries that are forwarded again keep their ids.
    expect(new Set(receiver.received.map(({ id }) => id)).size).toBe(received.size);
    const last = new Map<string | undefined, number>();
    for (const [conversation, number] of [...received].map((name) => name.split("/"))) {
      expect(Number(number)).toBeGreaterThan(last.get(conversation) ?? -1);
      last.set(conversation, Number(number));
    }
    expect(await isResponding({ ...instance, instance: "one that was killed" })).toBe(false);
  });

  it("if its write-ahead log is removed, rejects deliveries, and keeps acknowledged ones even if killed", async () => {
    const home = await makeHome();
    const { child, ended, origin } = await startResponder(home);
    const deliver = () => deliverTo(`${origin}/acme`, KEY);
    const probe = () => Promise.all(["healthz", "readyz"].map((path) => fetch(`${origin}/${path}`)));
    const count = 20;
    for (let sent = 0; sent < count; sent++) expect(await deliver()).toBe(200);
    await rm(join(home.dataDir, "spool.sqlite-wal"));
    for (let sent = 0; sent < count; sent++) expect(await deliver()).toBe(503);
    // This command, a different process, creates a new log.
    await startProgram(["responder", "deliveries", "--config", home.configFile]).ended;
    expect([await deliver(), ...(await probe()).map(({ status }) => status)]).toEqual([503, 503, 503]);
    child.kill("SIGKILL");
    await ended;
    await startResponder(home);
    expect(countsOf(home).pending).toBeGreaterThanOrEqual(count);
  });

  it("exits with 1 if its data folder is removed, because commands find a responder by that folder", async () => {
    const home = await makeHome();
    const { ended } = await startResponder(home);
    await rm(home.dataDir, { recursive: true });
    const { exitCode, stderr } = await ended;
    expect(exitCode).toBe(1);
    expect(stderr).toContain(`error: the data folder ${home.dataDir} was removed or replaced while`);
  });

  it("reloads its configuration on SIGHUP, unless the new one is invalid", async () => {
    const home = await makeHome();
    const { child, ended, origin } = await startResponder(home);
    await home.configure({ workspaces: { acme: { verificationKeys: [SECOND_KEY, KEY] } } });
    child.kill("SIGHUP");
    await expect.poll(() => deliverTo(`${origin}/acme`, SECOND_KEY)).toBe(200);
    await home.configure("{");
    child.kill("SIGHUP");
    child.kill("SIGHUP");
    expect(await deliverTo(`${origin}/acme`, KEY)).toBe(200);
    child.kill("SIGINT");
    const said = await ended;
    expect(said.exitCode).toBe(0);
    expect(said.stderr).toMatch(/"event":"reloaded"[^]*"event":"not reloaded","error":"[^"]*must be JSON/);
  });

  it("ends at once on the second signal", async () => {
    const home = await makeHome();
    const { child, ended, instance } = await startResponder(home);
    const socket = await openRequest(instance.port);
    child.kill("SIGTERM");
    // When the port is closed, the first signal has taken effect.
    await expect
      .poll(() => fetch(`http://127.0.0.1:${instance.port}/healthz`).catch(() => "gone"))
      .toBe("gone");
    expect(child.exitCode).toBeNull();
    child.kill("SIGTERM");
    expect((await ended).signal).toBe("SIGTERM");
    socket.destroy();
  });

  it("ends on SIGTERM even if its start waits forever for a key", { timeout: 60_000 }, async () => {
    const home = await makeHome();
    const file = join(home.folder, "pipe");
    await promisify(execFile)("mkfifo", [file]);
    await home.configure({ workspaces: { acme: { verificationKeys: { file } } } });
    const { child, ended } = startProgram(["responder", "--config", home.configFile]);
    // `open` waits until the responder opens the pipe to read a key. Nothing is ever written to the pipe.
    const writer = await open(file, "w");
    child.kill("SIGTERM");
    expect((await ended).signal).toBe("SIGKILL");
    await writer.close();
  });

  it("exits with 1 on an uncaught error, and shows no key", async () => {
    const home = await makeHome();
    const hook = join(home.folder, "crash.mjs");
    await writeFile(hook, `process.on("SIGUSR2", () => Promise.reject(new Error(${JSON.stringify(KEY)})));`);
    const environment = { NODE_OPTIONS: `--import=${hook}` };
    const { child, ended } = await startResponder(home, [], { environment });
    child.kill("SIGUSR2");
    const { exitCode, stderr } = await ended;
    expect(exitCode).toBe(1);
    expect(stderr).toMatch(/"event":"crashed","error":"Error","stack":" {4}at .*crash\.mjs:1:\d+/);
    expect(findSecrets(stderr, [KEY])).toEqual([]);

    // A crash during the start shows no key either, although the responder does not know the keys yet.
    await writeFile(
      hook,
      `process.on("newListener", (name) => name === "SIGHUP" && Promise.reject(new Error(${JSON.stringify(KEY)})));`,
    );
    const starting = startProgram(["responder", "--config", home.configFile], { environment });
    const printed = "error: the responder crashed while starting: Error\n";
    expect(await starting.ended).toMatchObject({ exitCode: 1, stderr: printed });
  });
});

it("if the spool's thread ends, a responder exits with 1, and keeps acknowledged deliveries", async () => {
  const home = await makeHome();
  const hook = join(home.folder, "thread.mjs");
  const ending =
    'if (!isMainThread) parentPort.on("message", ({ calls }) => calls[0]?.[0] === "retryWaiting" && process.exit(7));';
  await writeFile(hook, `import { isMainThread, parentPort } from "node:worker_threads"; ${ending}`);
  const environment = { NODE_OPTIONS: `--import=${hook}` };
  const { ended, origin, instance } = await startResponder(home, [], { environment });
  expect(await deliverTo(`${origin}/acme`, KEY)).toBe(200);
  await expect(spoolOf(instance).retry()).rejects.toMatchObject({ code: "unavailable" });
  const { exitCode, stderr } = await ended;
  expect(exitCode).toBe(1);
  expect(stderr).toMatch(/"event":"crashed","error":"SpoolThreadError","stack":"/);
  await startResponder(home);
  expect(countsOf(home).pending).toBe(1);
});

/** Sends the head of a request, but not its body. */
async function openRequest(port: number): Promise<Socket> {
  const socket = connect(port, "127.0.0.1");
  socket.on("error", () => socket.destroy());
  socket.write("POST /acme HTTP/1.1\r\nhost: x\r\nexpect: 100-continue\r\ncontent-length: 5\r\n\r\n");
  await once(socket, "data");
  return socket;
}

describe("a start that fails", () => {
  it("reports an invalid configuration without showing a key, and exits with 2", async () => {
    const home = await makeHome({ port: "eighty", workspaces: { acme: { verificationKeys: [`${KEY}\n`] } } });
    const said = await run("responder", "--config", home.configFile);
    expect(said).toMatchObject({ exitCode: 2, stdout: "" });
    expect(said.stderr.split("\n  ")).toEqual([
      `error: ${home.configFile}:`,
      'port: must be a whole number from 0 to 65535, got "eighty"; for example 8080, or 0 for any free port',
      expect.stringMatching(
        /^workspaces\.acme\.verificationKeys\[0\]: must be without leading or trailing whitespace/,
      ),
    ]);
    expect(findSecrets(said.stderr, [KEY])).toEqual([]);
  });

  it.each([
    ["responder", /^error: pass the configuration with --config <file>; see apichat responder --help\n$/],
    ["responder --config x --metrics-host 0.0.0.0", /^error: pass --metrics-port with --metrics-host;/],
    ["responder deliveries --data-dir x --config y", /^error: name the data folder: either/],
    ["responder dead-letters --data-dir /nowhere", /^error: no responder has run on \/nowhere yet/],
    ["responder --instance a/b", /It must be 1 to 64 of/],
  ])("exits with 2 for a usage error: %s", async (words, message) => {
    const said = await run(...words.split(" "));
    expect(said.stderr).toMatch(message);
    expect(said).toMatchObject({ exitCode: 2, stdout: "" });
  });
});
