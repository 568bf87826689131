import { spawn } from "node:child_process";
import { mkdir, readFile, readdir, readlink, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { ResponderLifecycle } from "../../dist/provider/handshake-responder/lifecycle.js";
import type { ProcessInputs, ProcessState } from "../../dist/provider/handshake-responder/inputs.js";
import { CONTROL_LIMITS } from "../../dist/provider/server/control-client.js";
import { readInstance } from "../../dist/provider/server/data-dir.js";
import { processesNaming } from "../../tools/lib/processes.ts";
import { commandsIn } from "../support/command.js";
import { freePort, startTcpServer } from "../support/http.js";
import { deliverTo } from "../support/responder.js";
import { acme, argsOf, isolateRuns, KEY, OTHER_KEY, type Values } from "../support/responder-runs.js";

/**
 * Runs the lifecycle in this process, with real responders. test/engine/handshake-responder.test.ts uses the engine.
 */
const run = isolateRuns();

let responders: ResponderLifecycle;

/** Imitates a new run of the engine, in which no resource is declared yet. */
const startRun = (): void => void (responders = new ResponderLifecycle());
beforeEach(startRun);

interface Created {
  id: string;
  outs: ProcessState;
}

async function checked(more: Values = {}, olds: Partial<ProcessInputs> = {}): Promise<ProcessInputs> {
  const { inputs, failures } = await responders.check(olds, argsOf(more));
  expect(failures).toEqual([]);
  return inputs;
}

const create = async (more: Values = {}): Promise<Created> => responders.create(await checked(more));

/** Creates a responder on a port that the system assigns to no other program during the tests. */
const createAtFixedPort = async (more: Values = {}): Promise<Created> =>
  create({ port: await freePort(), ...more });

async function update({ id, outs }: Created, more: Values = {}): Promise<Created> {
  return { id, outs: (await responders.update(id, outs, await checked(more, outs))).outs };
}

/** The state after a refresh; undefined if the process is gone. */
const read = async ({ id, outs }: Created): Promise<ProcessState | undefined> =>
  (await responders.read(id, outs)).props;

const destroy = ({ id, outs }: Created): Promise<void> => responders.delete(id, outs);

const diff = async ({ id, outs }: Created, more: Values): Promise<boolean> =>
  (await responders.diff(id, outs, await checked(more, outs))).changes;

const expectFailure = (work: Promise<unknown>, code: string, message: RegExp): Promise<void> =>
  expect(work).rejects.toMatchObject({
    code,
    operation: "responder",
    message: expect.stringMatching(message) as string,
  });

const deliver = ({ outs }: Created, key = KEY): Promise<number> =>
  deliverTo(`http://127.0.0.1:${outs.port}/acme`, key);

const readConfig = ({ outs }: Created): Promise<string> =>
  readFile(join(outs.dataDir, "config.json"), "utf8");

/** Waits for these pids, because a process ends a moment after it has released its folder. */
const expectPids = (pids: unknown, text = run.folder): Promise<void> =>
  vi.waitFor(async () => expect((await processesNaming(text)).map(({ pid }) => pid)).toEqual(pids), 10_000);

async function end({ outs }: Created): Promise<void> {
  process.kill(outs.pid, "SIGKILL");
  await expectPids([], outs.instance);
}

const expectGone = (folder: string): Promise<void> =>
  expect(readdir(folder)).rejects.toMatchObject({ code: "ENOENT" });

describe("create", () => {
  test("starts a process whose files only their owner can read", async () => {
    const created = await create();
    const { id, outs } = created;
    const { port, pid, instance, machine, dataDir } = outs;
    expect(outs).toEqual({ ...(await checked()), port, pid, instance, machine, stateVersion: 1 });
    expect(id).toBe(`127.0.0.1:${port}`);
    await expectPids([pid]);
    expect(await read(created)).toEqual(outs);
    expect(run.lines).toEqual([]);
    // The process has its own session, so it outlives the provider's session.
    const [, , , , group, session] = (await readFile(`/proc/${pid}/stat`, "utf8")).split(" ");
    expect([group, session]).toEqual([String(pid), String(pid)]);
    expect(await readlink(`/proc/${pid}/cwd`)).toBe(dataDir);

    expect((await stat(dataDir)).mode & 0o777).toBe(0o700);
    for (const file of await readdir(dataDir))
      expect([file, (await stat(join(dataDir, file))).mode & 0o777]).toEqual([file, 0o600]);
    expect(JSON.parse(await readConfig(created))).toMatchObject({ port, host: "127.0.0.1", dataDir });
  });

  test("adopts a process that is not in the state because the run that started it was killed", async () => {
    const lost = await create();
    const found = await create(acme({ verificationKeys: [OTHER_KEY] }));
    const { pid, port, instance } = lost.outs;
    expect(found.outs).toMatchObject({ pid, port, instance });
    expect(run.lines).toEqual([expect.stringMatching(/^chat: adopted the responder .*, pid \d+$/)]);
    expect(await deliver(found, OTHER_KEY)).toBe(200);
  });

  test("if the process cannot start, fails with its output on one line, without the key", async () => {
    const { port } = await startTcpServer();
    // Not this machine's address, so the process fails with a message that quotes it. The key is the same text.
    const host = "2001:db8:1:2:3:4:5:6";
    for (const [more, message] of [
      [
        { host, ...acme({ verificationKeys: [host] }) },
        /^.* did not start: cannot listen on \[redacted\] port 0.*$/,
      ],
      [{ port }, /^.* did not start: cannot listen on .*the port is taken by another program.*$/],
    ] as const) {
      await expectFailure(create(more), "unavailable", message);
      await expectPids([]);
      expect(await readdir((await checked()).dataDir)).not.toContain("config.json");
    }
  });
});

describe("a folder", () => {
  const OTHER_STACK = { organization: "another", ...acme({ verificationKeys: [OTHER_KEY] }) };

  test("is rejected, and stays unchanged, if it contains other files or a different configuration", async () => {
    const created = await createAtFixedPort();
    await end(created);
    for (const [file, code] of Object.entries({ "photo.jpg": "invalid_config", "config.json": "conflict" })) {
      const dataDir = join(run.folder, `with-${file}`);
      await mkdir(dataDir, { mode: 0o755 });
      await writeFile(join(dataDir, file), "{}");
      await expect(create({ dataDir })).rejects.toMatchObject({ code, problems: [{ field: "dataDir" }] });
      run.lines.length = 0;
      await destroy({ ...created, outs: { ...created.outs, dataDir } });
      expect((await stat(dataDir)).mode & 0o777).toBe(0o755);
      expect(await readdir(dataDir)).toEqual([file]);
      expect(run.lines).toEqual([
        `chat: warning: ${dataDir} belongs to another responder and was not changed`,
      ]);
    }
  });

  test("is rejected if it belongs to another stack; a renamed or moved stack keeps its folder", async () => {
    const dataDir = join(run.folder, "shared");
    const created = await createAtFixedPort({ dataDir });
    startRun();
    const before = await readConfig(created);
    const owner = /belongs to the stack project\/dev-[0-9a-f]{12};/;
    await expectFailure(create({ dataDir, ...OTHER_STACK }), "conflict", owner);
    expect(await readConfig(created)).toBe(before);
    expect(await read(created)).toEqual(created.outs);
    // A stack that is renamed or moved to another backend keeps the folder, and the deliveries in it.
    const moved = await update(created, { dataDir, ...OTHER_STACK });
    expect(moved.outs.pid).toBe(created.outs.pid);
    await expectFailure(update(created, { dataDir }), "conflict", owner);
    await destroy(moved);
    await expectGone(dataDir);
  });
});

test("for a responder on another machine, read and delete only warn, and update starts one here", async () => {
  const created = await createAtFixedPort();
  const { pid, machine } = created.outs;
  const there = { ...created, outs: { ...created.outs, machine: "another" } };
  expect(await read(there)).toEqual(there.outs);
  await destroy(there);
  const updated = await update(there, { dataDir: join(run.folder, "here"), port: await freePort() });
  expect(updated.outs.machine).toBe(machine);
  await expectPids(expect.arrayContaining([pid, updated.outs.pid]));
  expect(run.lines).toEqual([
    expect.stringContaining("chat: warning: the responder was started on another machine, so"),
    expect.stringContaining("cannot be ended from here"),
    expect.stringMatching(`warning: .* another machine.*pid ${pid}`),
  ]);
});

describe("update", () => {
  test("is needed for every change, and keeps the process if only keys and the public URL change", async () => {
    const created = await createAtFixedPort();
    const { port, pid } = created.outs;
    for (const more of [{}, { port }, { port: 0 }]) expect(await diff(created, more)).toBe(false);
    const dataDir = join(run.folder, "new");
    for (const more of [{ port: port + 1 }, { host: "0.0.0.0" }, { dataDir }, acme({ path: "/other" })])
      expect([more, await diff(created, more)]).toEqual([more, true]);
    const change = { ...acme({ verificationKeys: [OTHER_KEY, KEY] }), publicUrl: "https://tunnel.example" };
    expect(await diff(created, change)).toBe(true);
    expect(run.lines).toEqual([]);
    const updated = await update(created, change);
    expect(updated.outs).toEqual({ ...created.outs, ...change });
    expect([await deliver(updated), await deliver(updated, OTHER_KEY)]).toEqual([200, 200]);
    await expectPids([pid]);
    expect(await read(updated)).toEqual(updated.outs);
  });

  test("moves the process to a changed port, and back to the id's port if the port is omitted later", async () => {
    const created = await createAtFixedPort();
    const port = await freePort();
    const moved = await update(created, { port });
    expect(moved.outs.port).toBe(port);
    expect(moved.outs.instance).not.toBe(created.outs.instance);
    await expectPids([moved.outs.pid]);
    await expect(deliver(created)).rejects.toThrow("fetch failed");
    expect(await diff(moved, {})).toBe(true);
    expect((await update(moved)).outs.port).toBe(created.outs.port);
    expect(run.lines).toEqual([]);
  });

  test("moves the process to a new folder, keeps its port, and counts the deliveries left behind", async () => {
    const created = await createAtFixedPort();
    const [second, third] = [join(run.folder, "second"), join(run.folder, "third")];
    const moved = await update(created, { dataDir: second });
    expect(moved.outs).toMatchObject({ dataDir: second, port: created.outs.port });
    await expectGone(created.outs.dataDir);
    expect(run.lines).toEqual([]);
    expect(await deliver(moved)).toBe(200);
    const again = await update(moved, { dataDir: third });
    await expectPids([again.outs.pid]);
    expect(await readdir(second)).toContain("spool.sqlite");
    expect(run.lines).toEqual([expect.stringContaining("1 delivery was not forwarded: kept in")]);
  });

  test.each<[string, (used: number) => Values, RegExp]>([
    ["a port in use", (port) => ({ port }), /the port is taken/],
    [
      "a wrong address",
      () => ({ dataDir: join(run.folder, "new"), host: "192.0.2.1" }),
      /not an address of this machine/,
    ],
  ])("fails for %s, and the previous process runs again", async (_, changeTo, reason) => {
    const { port: used } = await startTcpServer();
    const created = await createAtFixedPort();
    const before = await readConfig(created);
    await expectFailure(update(created, changeTo(used)), "unavailable", reason);
    const { instance, port } = created.outs;
    expect(await read(created)).toMatchObject({ instance, port });
    expect(await deliver(created)).toBe(200);
    expect(await readConfig(created)).toBe(before);
  });
});

test("update replaces a responder that was started by hand, and keeps its deliveries", async () => {
  const created = await createAtFixedPort();
  const { dataDir, port } = created.outs;
  await end(created);
  const program = join(import.meta.dirname, "../../dist/provider/cli/main.js");
  const config = join(dataDir, "config.json");
  const byHand = commandsIn(run.folder, {})(process.execPath, program, "responder", "--config", config);
  await byHand.until(() => deliver(created).then(Boolean, () => false));
  const updated = await update(created, { port });
  await expectPids([updated.outs.pid]);
  expect(await deliver(updated)).toBe(200);
  await destroy(updated);
  expect(run.lines.at(-1)).toContain("2 deliveries were not forwarded");
});

describe("delete", () => {
  test("ends the process and removes its files; a responder that replaces it gets the same port", async () => {
    const created = await createAtFixedPort();
    await destroy(created);
    await expectPids([]);
    await expectGone(created.outs.dataDir);
    const again = await create();
    expect(again.id).toBe(created.id);
    await end(again);
    await destroy(again);
    await expectGone(created.outs.dataDir);
    expect(run.lines).toEqual([]);
  });

  test("keeps deliveries that were not forwarded, and prints a warning", async () => {
    const created = await createAtFixedPort();
    const { dataDir } = created.outs;
    expect(await deliver(created)).toBe(200);
    const kept = `warning: 1 delivery was not forwarded: kept in ${dataDir}.`;
    for (const warning of [kept, "deliveries may not have been forwarded: kept"]) {
      await destroy(created);
      expect(run.lines.splice(0)).toEqual([expect.stringContaining(warning)]);
      expect(await readdir(dataDir)).toEqual(["owner.txt", "spool.sqlite"]);
      await writeFile(join(dataDir, "spool.sqlite"), "no database ".repeat(1_000));
    }
  });

  test("does not end a different process that now has the pid", async () => {
    const created = await createAtFixedPort();
    const { dataDir } = created.outs;
    await end(created);
    const other = spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)", run.folder]);
    const announced = JSON.stringify({ ...(await readInstance(dataDir)), pid: other.pid });
    await writeFile(join(dataDir, "instance.json"), announced);
    const state = { ...created, outs: { ...created.outs, pid: other.pid ?? 0 } };
    await destroy(state);
    await expectPids([other.pid]);
    await expectGone(dataDir);
    await destroy(state);
    await expectPids([other.pid]);
  });
});

test("while a process hangs, read, update and delete fail; once it responds, they succeed", async () => {
  const { answerMs } = CONTROL_LIMITS;
  onTestFinished(() => void (CONTROL_LIMITS.answerMs = answerMs));
  CONTROL_LIMITS.answerMs = 500;
  const created = await createAtFixedPort();
  process.kill(created.outs.pid, "SIGSTOP");
  const hints = [{ id: "end_process", pid: created.outs.pid }];
  for (const work of [read, update, destroy])
    await expect(work(created)).rejects.toMatchObject({ code: "timeout", hints });
  CONTROL_LIMITS.answerMs = answerMs;
  process.kill(created.outs.pid, "SIGCONT");
  expect(await read(created)).toEqual(created.outs);
  await destroy(created);
  await expectPids([]);
});

const removeFolder = ({ outs }: Created): Promise<void> => rm(outs.dataDir, { recursive: true });

describe("a process whose folder was removed", () => {
  test("ends; then refresh reports it as gone, update restarts it on its port, and delete does nothing", async () => {
    const created = await createAtFixedPort();
    await removeFolder(created);
    await expectPids([]);
    expect(await read(created)).toBeUndefined();
    const updated = await update(created, { publicUrl: "https://tunnel.example" });
    expect(updated.outs.port).toBe(created.outs.port);
    expect(await deliver(updated)).toBe(200);
    expect(run.lines).toEqual([
      expect.stringMatching(/^chat: the responder had ended; started again, pid \d+$/),
    ]);
    await removeFolder(updated);
    await expectPids([]);
    await destroy(updated);
    await expectGone(updated.outs.dataDir);
  });

  test("ends even if another process, which keeps running, has started in a new folder at that path", async () => {
    const created = await createAtFixedPort();
    await removeFolder(created);
    const second = await create();
    await expectPids([second.outs.pid]);
    await destroy(created);
    expect(await read(second)).toEqual(second.outs);
    expect(run.lines.at(-1)).toMatch(
      /warning: another responder runs on .* now \(pid \d+\); it keeps running$/,
    );
  });
});

test("a responder that is renamed without an alias keeps its process when the old resource is deleted", async () => {
  const dataDir = join(run.folder, "own");
  const created = await createAtFixedPort({ dataDir });
  startRun();
  const renamed = await create({ name: "renamed", instanceKey: "project/dev/renamed", dataDir });
  expect(renamed.outs.pid).toBe(created.outs.pid);
  startRun();
  await destroy(created);
  expect(run.lines.at(-1)).toMatch(
    /^chat: the responder keeps running: .* now belongs to project\/dev-\w+\/renamed$/,
  );
  expect(await read(renamed)).toEqual(renamed.outs);
  expect(await deliver(renamed)).toBe(200);
  await destroy(renamed);
  await expectPids([]);
});
