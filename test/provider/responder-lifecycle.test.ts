import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { mkdir, readFile, readdir, readlink, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { CONTROL_LIMITS } from "../../dist/provider/server/control-client.js";
import { readInstance } from "../../dist/provider/server/data-dir.js";
import { freePort, startTcpServer } from "../support/http.js";
import { acme, KEY, OTHER_KEY } from "../support/responder-runs.js";
import {
  checked,
  create,
  createAtFixedPort,
  deliver,
  destroy,
  diff,
  end,
  expectGone,
  failureOf,
  expectPids,
  read,
  readConfig,
  run,
  startRun,
  update,
  type Created,
  type Values,
} from "./responder-harness.js";

describe("create", () => {
  test("starts its own process, whose files only their owner can read", async () => {
    const created = await create();
    const { id, outs } = created;
    const { port, pid, instance, machine, dataDir } = outs;
    expect(outs).toEqual({ ...(await checked()), port, pid, instance, machine, stateVersion: 1 });
    expect(id).toBe(`127.0.0.1:${port}`);
    await expectPids([pid]);
    expect(await read(created)).toEqual(outs);
    expect(run.lines).toEqual([]);
    // Its own session: what ends the provider's session does not end it.
    const [, , , , group, session] = (await readFile(`/proc/${pid}/stat`, "utf8")).split(" ");
    expect([group, session]).toEqual([String(pid), String(pid)]);
    expect(await readlink(`/proc/${pid}/cwd`)).toBe(dataDir);

    expect((await stat(dataDir)).mode & 0o777).toBe(0o700);
    for (const file of await readdir(dataDir))
      expect([file, (await stat(join(dataDir, file))).mode & 0o777]).toEqual([file, 0o600]);
    expect(JSON.parse(await readConfig(created))).toMatchObject({ port, host: "127.0.0.1", dataDir });
  });

  test("adopts the process of a run that was killed before it could record it", async () => {
    const lost = await create();
    const found = await create(acme({ verificationKeys: [OTHER_KEY] }));
    const { pid, port, instance } = lost.outs;
    expect(found.outs).toMatchObject({ pid, port, instance });
    expect(run.lines).toEqual([expect.stringMatching(/^chat: adopted the responder .*, pid \d+$/)]);
    expect(await deliver(found, OTHER_KEY)).toBe(200);
  });

  test("of a process that cannot start shows its output on one line, without the key, and leaves nothing", async () => {
    const { port } = await startTcpServer();
    // Not an address of this machine; the process names it.
    const host = "2001:db8:1:2:3:4:5:6";
    for (const [more, printed] of [
      [{ host, ...acme({ verificationKeys: [host] }) }, "cannot listen on [redacted] port 0"],
      [{ port }, "the port is taken by another program"],
    ] as const) {
      const error = await failureOf(create(more));
      expect(error).toMatchObject({ code: "unavailable", operation: "responder" });
      expect(error.message).toContain("the responder did not start: cannot listen on ");
      expect(error.message).toContain(printed);
      expect(error.message).not.toContain("\n");
      await expectPids([]);
      expect(await readdir((await checked()).dataDir)).not.toContain("config.json");
    }
  });
});

describe("a folder", () => {
  const OTHER_STACK = { organization: "another", ...acme({ verificationKeys: [OTHER_KEY] }) };

  test("with other files or another configuration is rejected, and never changed", async () => {
    const created = await createAtFixedPort();
    await end(created);
    const refusals = { "photo.jpg": "invalid_config", "config.json": "conflict" };
    for (const [file, code] of Object.entries(refusals)) {
      const dataDir = join(run.folder, `with-${file}`);
      await mkdir(dataDir, { mode: 0o755 });
      await writeFile(join(dataDir, file), "{}");
      expect(await failureOf(create({ dataDir }))).toMatchObject({ code, problems: [{ field: "dataDir" }] });
      run.lines.length = 0;
      await destroy({ ...created, outs: { ...created.outs, dataDir } });
      expect((await stat(dataDir)).mode & 0o777).toBe(0o755);
      expect(await readdir(dataDir)).toEqual([file]);
      expect(run.lines).toEqual([`chat: warning: ${dataDir} belongs to another responder and is unchanged`]);
    }
  });

  test("of another stack is rejected, and its process unchanged; it moves with its stack", async () => {
    const dataDir = join(run.folder, "shared");
    const created = await createAtFixedPort({ dataDir });
    startRun();
    const before = await readConfig(created);
    const error = await failureOf(create({ dataDir, ...OTHER_STACK }));
    expect(error).toMatchObject({ code: "conflict" });
    expect(error.message).toMatch(/belongs to the stack project\/dev-[0-9a-f]{12};/);
    expect(await readConfig(created)).toBe(before);
    expect(await read(created)).toEqual(created.outs);
    // The stack was renamed or moved to another backend: deliveries of the previous one do not return to it.
    const moved = await update(created, { dataDir, ...OTHER_STACK });
    expect(moved.outs.pid).toBe(created.outs.pid);
    expect(await failureOf(update(created, { dataDir }))).toMatchObject({ code: "conflict" });
    await destroy(moved);
    await expectGone(dataDir);
  });
});

test("on another machine read and delete warn and change nothing, and update starts it here", async () => {
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
    expect.stringContaining("is not ended from here"),
    expect.stringMatching(`warning: .* another machine.*pid ${pid}`),
  ]);
});

describe("update", () => {
  test("runs if diff finds a change, and is applied without a restart", async () => {
    const created = await createAtFixedPort();
    const { port, pid } = created.outs;
    for (const more of [{}, { port }, { port: 0 }]) expect(await diff(created, more)).toBe(false);
    for (const more of [
      { port: port + 1 },
      { host: "0.0.0.0" },
      { dataDir: join(run.folder, "new") },
      acme({ path: "/other" }),
      acme({ forwardTo: "http://127.0.0.1:3000/" }),
    ]) {
      expect([more, await diff(created, more)]).toEqual([more, true]);
    }
    expect(run.lines).toEqual([]);
    const change = { ...acme({ verificationKeys: [OTHER_KEY, KEY] }), publicUrl: "https://tunnel.example" };
    expect(await diff(created, change)).toBe(true);
    expect(run.lines).toEqual([]);
    const updated = await update(created, change);
    expect(updated.outs).toEqual({ ...created.outs, ...change });
    expect([await deliver(updated), await deliver(updated, OTHER_KEY)]).toEqual([200, 200]);
    await expectPids([pid]);
    expect(await read(updated)).toEqual(updated.outs);
  });

  test("to another port starts the process there, and without a port it returns to the one in the id", async () => {
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

  test("to another folder moves the process with its port; waiting deliveries stay and are counted", async () => {
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

  test.each<[string, (created: Created, holderPort: number) => Values, failure: object]>([
    [
      "a port in use",
      (_, port) => ({ port }),
      { code: "unavailable", summary: expect.stringContaining("the port is taken") as string },
    ],
    [
      "a folder that cannot be used",
      () => ({ dataDir: join(run.folder, "new"), host: "192.0.2.1" }),
      { code: "unavailable", summary: expect.stringContaining("not an address of this machine") as string },
    ],
    [
      "a target that is itself",
      ({ outs: { port } }) => acme({ forwardTo: `http://127.0.0.1:${port}/acme` }),
      { code: "invalid_config", summary: expect.stringContaining("own workspace acme") as string },
    ],
  ])("to %s fails and changes nothing: the previous one runs (again)", async (_what, more, failure) => {
    const holder = await startTcpServer();
    const created = await createAtFixedPort();
    const before = await readConfig(created);
    const error = await failureOf(update(created, more(created, holder.port)));
    expect(error).toMatchObject(failure);
    const { instance, port } = created.outs;
    expect(await read(created)).toMatchObject({ instance, port });
    expect(await deliver(created)).toBe(200);
    expect(await readConfig(created)).toBe(before);
  });
});

test("a responder that was started by hand on the folder is replaced, with its deliveries", async () => {
  const created = await createAtFixedPort();
  const { dataDir, port } = created.outs;
  await end(created);
  const program = fileURLToPath(new URL("../../dist/provider/cli/main.js", import.meta.url));
  const byHand = ["responder", "--config", join(dataDir, "config.json")];
  spawn(process.execPath, [program, ...byHand], { stdio: "ignore" });
  await vi.waitUntil(() => deliver(created).then(Boolean, () => false), { timeout: 20_000 });
  const updated = await update(created, { port });
  await expectPids([updated.outs.pid]);
  expect(await deliver(updated)).toBe(200);
  await destroy(updated);
  expect(run.lines.at(-1)).toContain("2 deliveries were not forwarded");
});

describe("delete", () => {
  test("ends the process and removes its files, or finds it ended; a replacement keeps the port", async () => {
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

  test("keeps waiting deliveries, with a warning that counts them or reports that it cannot read them", async () => {
    const created = await createAtFixedPort();
    const { dataDir } = created.outs;
    expect([await deliver(created), await deliver(created)]).toEqual([200, 200]);
    await destroy(created);
    const counted = `chat: warning: 2 deliveries were not forwarded: kept in ${dataDir}.`;
    expect(run.lines).toEqual([expect.stringContaining(counted)]);
    expect(await readdir(dataDir)).toEqual(["owner.txt", "spool.sqlite"]);
    await rm(join(dataDir, "spool.sqlite-wal"), { force: true });
    await writeFile(join(dataDir, "spool.sqlite"), "no database ".repeat(1_000));
    await destroy(created);
    expect(run.lines.at(-1)).toContain("deliveries may not have been forwarded: kept");
    expect(await readdir(dataDir)).toEqual(["owner.txt", "spool.sqlite"]);
  });

  test("ends neither another process of the folder, nor one that has the pid", async () => {
    const created = await createAtFixedPort();
    const { dataDir } = created.outs;
    await destroy({ ...created, outs: { ...created.outs, instance: randomUUID() } });
    expect(run.lines).toEqual([
      expect.stringMatching(/warning: another responder runs on .*it keeps running$/),
    ]);
    await end(created);
    // The system has given the pid to a different process.
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

describe("a process that hangs", () => {
  test("is an error for read and delete, not gone and not killed, until it responds again", async () => {
    const { answerMs } = CONTROL_LIMITS;
    onTestFinished(() => void (CONTROL_LIMITS.answerMs = answerMs));
    CONTROL_LIMITS.answerMs = 500;
    const created = await createAtFixedPort();
    process.kill(created.outs.pid, "SIGSTOP");
    const hints = [{ id: "end_process", pid: created.outs.pid }];
    for (const work of [read, update, destroy])
      expect(await failureOf(work(created))).toMatchObject({ code: "timeout", hints });
    process.kill(created.outs.pid, "SIGCONT");
    expect(await read(created)).toEqual(created.outs);
    await destroy(created);
    await expectPids([]);
  });
});
