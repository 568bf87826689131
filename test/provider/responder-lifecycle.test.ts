import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { mkdir, readFile, readdir, readlink, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, describe, expect, test, vi } from "vitest";
import { ResponderProcess } from "../../dist/provider/dynamic.js";
import { digestOf } from "../../dist/provider/handshake-responder/data-folder.js";
import { forgetDeclared } from "../../dist/provider/handshake-responder/declared.js";
import type { ProcessInputs, ProcessState } from "../../dist/provider/handshake-responder/inputs.js";
import { LIMITS } from "../../dist/provider/handshake-responder/process.js";
import { readInstance, requestStatus } from "../../dist/provider/server/control-client.js";
import { freePort, startServer } from "../support/http.js";
import { processesNaming } from "../support/processes.js";
import { argsOf, isolateRuns, KEY, OTHER_KEY } from "../support/responder-runs.js";
import { deliverTo, environmentOf } from "../support/responder.js";
import { findSecrets } from "../support/secrets.js";

/**
 * The lifecycle in this process, and with the real responder. What crosses the engine's protocol is in
 * responder-process.test.ts.
 */
const run = isolateRuns(forgetDeclared);
const { ...limits } = LIMITS;
afterEach(() => void Object.assign(LIMITS, limits));

type Values = Record<string, unknown>;

interface Created {
  id: string;
  outs: ProcessState;
}

async function checked(more: Values = {}, olds: unknown = {}): Promise<ProcessInputs> {
  const { inputs, failures } = await ResponderProcess.check(olds, argsOf(more));
  expect(failures).toEqual([]);
  return inputs;
}

const create = async (more: Values = {}): Promise<Created> => ResponderProcess.create(await checked(more));

async function update({ id, outs }: Created, more: Values = {}): Promise<Created> {
  const updated = await ResponderProcess.update(id, outs, await checked(more, outs));
  return { id, outs: updated.outs };
}

/** What a refresh leaves of it: undefined if it is gone. */
async function read({ id, outs }: Created): Promise<ProcessState | undefined> {
  return (await ResponderProcess.read(id, outs)).props;
}

const destroy = ({ id, outs }: Created): Promise<void> => ResponderProcess.delete(id, outs);

/** The failure of a step. */
async function failureOf(work: Promise<unknown>): Promise<Error & { summary?: string }> {
  const outcome: unknown = await work.then(
    (value) => new Error(`it succeeded with ${JSON.stringify(value)}`),
    (error: unknown) => error,
  );
  if (outcome instanceof Error) return outcome;
  throw new Error(`not an error: ${String(outcome)}`);
}

const deliver = ({ outs }: Created): Promise<number> => deliverTo(`http://127.0.0.1:${outs.port}/acme`, KEY);

const configOf = async ({ outs }: Created): Promise<{ port: number }> =>
  JSON.parse(await readFile(join(outs.dataDir, "config.json"), "utf8")) as { port: number };

const kill = async ({ outs }: Created): Promise<void> => {
  process.kill(outs.pid, "SIGKILL");
  await vi.waitUntil(async () => (await processesNaming(outs.instance)).length === 0);
};

const pidsOf = async ({ outs }: Created): Promise<number[]> =>
  (await processesNaming(outs.dataDir)).map(({ pid }) => pid);

const diff = async ({ id, outs }: Created, more: Record<string, unknown>): Promise<boolean> => {
  const { changes, replaces } = await ResponderProcess.diff(id, outs, await checked(more, outs));
  expect(replaces).toEqual([]);
  return changes;
};

describe("create", () => {
  test("starts a process of its own, and says where it listens", async () => {
    const created = await create();
    const { id, outs } = created;
    expect(outs).toEqual({
      ...(await checked()),
      port: outs.port,
      pid: outs.pid,
      instance: outs.instance,
      machine: outs.machine,
      stateVersion: 1,
    });
    expect(id).toBe(`127.0.0.1:${outs.port}`);
    expect(await pidsOf(created)).toEqual([outs.pid]);
    // A session of its own: what ends the provider's does not end it.
    const [, , , , group, session] = (await readFile(`/proc/${outs.pid}/stat`, "utf8")).split(" ");
    expect([group, session]).toEqual([String(outs.pid), String(outs.pid)]);
    expect(run.lines).toEqual([]);
  });

  test("keeps folder and files for their owner, and the port for the next start", async () => {
    const created = await create();
    const { dataDir, port } = created.outs;
    expect((await stat(dataDir)).mode & 0o777).toBe(0o700);
    for (const file of await readdir(dataDir)) {
      expect([file, (await stat(join(dataDir, file))).mode & 0o777]).toEqual([file, 0o600]);
    }
    expect(await configOf(created)).toMatchObject({ port, host: "127.0.0.1", dataDir });
  });

  test("gives the process nothing of the provider's environment but what it needs, and no key", async () => {
    vi.stubEnv("PULUMI_CONFIG_PASSPHRASE", "passphrase-of-the-provider");
    vi.stubEnv("AWS_SECRET_ACCESS_KEY", "cloud-key-of-the-provider");
    vi.stubEnv("https_proxy", "http://127.0.0.1:9");
    vi.stubEnv("TZ", "Europe/Lisbon");
    const created = await create();
    const environment = await environmentOf(created.outs.pid);
    expect(environment).toMatchObject({
      PATH: process.env["PATH"],
      https_proxy: "http://127.0.0.1:9",
      TZ: "Europe/Lisbon",
    });
    const allowed =
      /^(PATH|HOME|TZ|LANG|TMPDIR|https?_proxy|no_proxy|NODE_EXTRA_CA_CERTS|SSL_CERT_(FILE|DIR))$/i;
    expect(Object.keys(environment).filter((name) => !allowed.test(name))).toEqual([]);
    const processes = await processesNaming(created.outs.dataDir);
    expect(findSecrets(JSON.stringify([environment, processes]), [KEY])).toEqual([]);
    expect(await readlink(`/proc/${created.outs.pid}/cwd`)).toBe(created.outs.dataDir);
  });

  test("listens on the port that the program names", async () => {
    const port = await freePort();
    expect((await create({ port })).id).toBe(`127.0.0.1:${port}`);
  });

  test("adopts the process of a run that was ended before it could say so", async () => {
    const lost = await create();
    run.lines.length = 0;
    const found = await create({ verificationKeys: { acme: [OTHER_KEY] } });
    expect(found.outs).toMatchObject({
      pid: lost.outs.pid,
      port: lost.outs.port,
      instance: lost.outs.instance,
    });
    expect(run.lines).toEqual([expect.stringMatching(/^chat: adopted the responder .*, pid \d+$/)]);
    const announced = await readInstance(found.outs.dataDir);
    const status = announced && (await requestStatus(announced));
    const config = await readFile(join(found.outs.dataDir, "config.json"), "utf8");
    expect(config).toContain(JSON.stringify(OTHER_KEY));
    expect(status?.configDigest).toBe(digestOf(config));
  });

  test("a start that fails shows what the process printed, without the key, and leaves nothing", async () => {
    // No address of this machine; the process names it.
    const host = "2001:db8:1:2:3:4:5:6";
    const error = await failureOf(create({ host, verificationKeys: { acme: [host] } }));
    expect(error).toMatchObject({ code: "unavailable", operation: "responder" });
    expect(error.message).toContain("chat: the responder did not start: cannot listen on [redacted] port");
    const { dataDir } = await checked();
    expect(await processesNaming(dataDir)).toEqual([]);
    expect(await readdir(dataDir)).not.toContain("config.json");
  });

  test("a process that does not answer in time is ended", async () => {
    LIMITS.startMs = 500;
    const creating = failureOf(create());
    const [hung] = await vi.waitUntil(async () => {
      const found = await processesNaming(run.folder);
      return found.length > 0 ? found : undefined;
    });
    process.kill(hung?.pid ?? 0, "SIGSTOP");
    expect(await creating).toMatchObject({ code: "timeout" });
    await vi.waitUntil(async () => (await processesNaming(run.folder)).length === 0);
  });

  test("a folder that holds files of others is refused, and stays as it is", async () => {
    const dataDir = join(run.folder, "photos");
    await mkdir(dataDir, { mode: 0o755 });
    await writeFile(join(dataDir, "photo.jpg"), "");
    const error = await failureOf(create({ dataDir }));
    expect(error).toMatchObject({ code: "invalid_config" });
    expect(error.message).toContain("must be a folder of its own");
    expect((await stat(dataDir)).mode & 0o777).toBe(0o755);
    expect(await readdir(dataDir)).toEqual(["photo.jpg"]);
  });
});

describe("a folder that the program names", () => {
  const OTHER_STACK = { organization: "another", verificationKeys: { acme: [OTHER_KEY] } };

  test("is refused if it is another stack's, whose process is unchanged", async () => {
    const dataDir = join(run.folder, "shared");
    const created = await create({ dataDir });
    forgetDeclared();
    const before = await configOf(created);
    const error = await failureOf(create({ dataDir, ...OTHER_STACK }));
    expect(error).toMatchObject({ code: "conflict" });
    expect(error.message).toMatch(/belongs to the stack project\/dev-[0-9a-f]{12};/);
    expect(await configOf(created)).toEqual(before);
    expect(await read(created)).toEqual(created.outs);
  });

  test("and that holds a configuration of others is refused, and never deleted", async () => {
    const dataDir = join(run.folder, "etc");
    const config = '{"name":"of another program"}';
    await mkdir(dataDir);
    await writeFile(join(dataDir, "config.json"), config);
    expect(await failureOf(create({ dataDir }))).toMatchObject({ code: "conflict" });
    expect(await readdir(dataDir)).toEqual(["config.json"]);
    const created = await create();
    await kill(created);
    await destroy({ ...created, outs: { ...created.outs, dataDir } });
    expect(await readFile(join(dataDir, "config.json"), "utf8")).toBe(config);
    expect(run.lines).toEqual([`chat: warning: ${dataDir} belongs to another responder and is unchanged`]);
  });

  test.each([
    ["with a state", (created: Created, more: Record<string, unknown>) => update(created, more)],
    ["without a state, by a key in it", (_: Created, more: Record<string, unknown>) => create(more)],
  ])("is known again where a version before the file owner.txt left it, %s", async (_what, again) => {
    const dataDir = join(run.folder, "former");
    const created = await create({ dataDir });
    await rm(join(dataDir, "owner.txt"));
    forgetDeclared();
    expect(await failureOf(create({ dataDir, ...OTHER_STACK }))).toMatchObject({ code: "conflict" });
    forgetDeclared();
    const verificationKeys = { acme: [OTHER_KEY, KEY] };
    const { outs } = await again(created, { dataDir, verificationKeys });
    expect(outs.pid).toBe(created.outs.pid);
    expect(await readdir(dataDir)).toContain("owner.txt");
  });

  test("is this stack's after the stack was renamed or has moved to another backend", async () => {
    const dataDir = join(run.folder, "moved");
    const created = await create({ dataDir });
    const moved = await update(created, { dataDir, ...OTHER_STACK });
    expect(moved.outs.pid).toBe(created.outs.pid);
    // What is left of the former stack does not come back to it.
    expect(await failureOf(update(created, { dataDir }))).toMatchObject({ code: "conflict" });
    await destroy(moved);
    await expect(readdir(dataDir)).rejects.toMatchObject({ code: "ENOENT" });
  });

  test("with what another responder of this stack left of deliveries is taken over", async () => {
    const dataDir = join(run.folder, "left");
    await mkdir(dataDir);
    await writeFile(join(dataDir, "spool.sqlite"), "");
    await expect(create({ dataDir })).resolves.toMatchObject({ outs: { dataDir } });
  });
});

describe("read", () => {
  test("sees the process alive", async () => {
    const created = await create();
    expect(await read(created)).toEqual(created.outs);
  });

  test("sees a killed one as gone, and the next create starts it on the same port", async () => {
    const created = await create();
    await kill(created);
    expect(await read(created)).toBeUndefined();
    const again = await create();
    expect(again.id).toBe(created.id);
    expect(again.outs.pid).not.toBe(created.outs.pid);
  });

  test("sees one that stopped by itself as gone, and the next create starts it on the same port", async () => {
    const created = await create();
    process.kill(created.outs.pid, "SIGTERM");
    await vi.waitUntil(async () => (await pidsOf(created)).length === 0);
    expect(await read(created)).toBeUndefined();
    expect((await create()).id).toBe(created.id);
  });

  test("sees another process in its place as gone", async () => {
    const created = await create();
    await kill(created);
    await create();
    expect(await read(created)).toBeUndefined();
  });

  test("on another machine it warns, and the state stays as it is", async () => {
    const created = await create();
    const elsewhere = { ...created, outs: { ...created.outs, machine: "another" } };
    expect(await read(elsewhere)).toEqual(elsewhere.outs);
    expect(run.lines).toEqual([
      expect.stringContaining("chat: warning: the responder was started on another machine"),
    ]);
  });
});

describe("diff", () => {
  test("finds what update has to do, and nothing else", async () => {
    const created = await create();
    const { port } = created.outs;
    expect(await diff(created, {})).toBe(false);
    expect(await diff(created, { port })).toBe(false);
    expect(await diff(created, { port: 0 })).toBe(false);
    await kill(created);
    expect(await diff(created, {})).toBe(false);
    for (const more of [
      { port: port + 1 },
      { host: "0.0.0.0" },
      { publicUrl: "https://tunnel.example" },
      { dataDir: join(run.folder, "new") },
      { workspaces: { acme: { path: "/other" } } },
      { workspaces: { acme: { path: "/acme", forwardTo: "http://127.0.0.1:3000/" } } },
    ]) {
      expect([more, await diff(created, more)]).toEqual([more, true]);
    }
    expect(run.lines).toEqual([]);
    expect(await diff(created, { verificationKeys: { acme: [OTHER_KEY, KEY] } })).toBe(true);
    expect(run.lines).toEqual(["chat: verificationKeys of acme change"]);
  });

  test("a port that the program names no more goes back to that of the id", async () => {
    const created = await create();
    const port = await freePort();
    const moved = await update(created, { port });
    expect(moved.outs.port).toBe(port);
    expect(await diff(moved, {})).toBe(true);
    expect((await update(moved)).outs.port).toBe(created.outs.port);
  });
});

describe("update", () => {
  test("is applied without a restart", async () => {
    const created = await create();
    const keys = { acme: [OTHER_KEY, KEY] };
    const updated = await update(created, { verificationKeys: keys, publicUrl: "https://tunnel.example" });
    expect(updated.outs).toEqual({
      ...created.outs,
      verificationKeys: keys,
      publicUrl: "https://tunnel.example",
    });
    expect(await pidsOf(created)).toEqual([created.outs.pid]);
    expect(await read(updated)).toEqual(updated.outs);
  });

  test("starts one that has ended again, on the same port", async () => {
    const created = await create();
    await kill(created);
    const updated = await update(created, { verificationKeys: { acme: [OTHER_KEY] } });
    expect(updated.outs.port).toBe(created.outs.port);
    expect(await pidsOf(created)).toEqual([updated.outs.pid]);
    expect(run.lines).toEqual([
      expect.stringMatching(/^chat: the responder had ended; started again, pid \d+$/),
    ]);
  });

  test("what the process refuses is an error, and the file stays as it was", async () => {
    const created = await create();
    const before = await configOf(created);
    const forwardTo = `http://127.0.0.1:${created.outs.port}/acme`;
    const error = await failureOf(update(created, { workspaces: { acme: { path: "/acme", forwardTo } } }));
    expect(error).toMatchObject({ code: "invalid_config", subject: "chat" });
    expect(error.message).toContain("this responder's own workspace acme");
    expect(await configOf(created)).toEqual(before);
    expect(await read(created)).toEqual(created.outs);
  });

  test("another port: the process is started again there", async () => {
    const created = await create();
    const port = await freePort();
    const { outs } = await update(created, { port });
    expect(outs.port).toBe(port);
    expect(outs.instance).not.toBe(created.outs.instance);
    expect(await pidsOf(created)).toEqual([outs.pid]);
    expect(run.lines).toEqual([]);
  });

  test("another folder: the process moves there with its port, and the former folder is gone", async () => {
    const created = await create();
    const dataDir = join(run.folder, "new");
    const moved = await update(created, { dataDir });
    expect(moved.outs).toMatchObject({ dataDir, port: created.outs.port });
    expect(await pidsOf(moved)).toEqual([moved.outs.pid]);
    expect((await processesNaming(run.folder)).map(({ pid }) => pid)).toEqual([moved.outs.pid]);
    await expect(readdir(created.outs.dataDir)).rejects.toMatchObject({ code: "ENOENT" });
    expect(run.lines).toEqual([]);
  });

  test("another folder that cannot be used: the process runs on in the former one", async () => {
    const created = await create();
    await failureOf(update(created, { dataDir: join(run.folder, "new"), host: "192.0.2.1" }));
    expect(await read(created)).toMatchObject({ instance: created.outs.instance, port: created.outs.port });
  });

  test("on another machine it is started there, with a warning", async () => {
    const created = await create();
    const pid = created.outs.pid;
    const elsewhere = { ...created, outs: { ...created.outs, machine: "another" } };
    const updated = await update(elsewhere, { dataDir: join(run.folder, "here"), port: await freePort() });
    expect(updated.outs.machine).toBe(created.outs.machine);
    expect(run.lines).toEqual([expect.stringMatching(`warning: .* another machine.*pid ${pid}`)]);
    expect(await pidsOf(created)).toEqual([pid]);
  });
});

describe("delete", () => {
  test("ends the process and removes its files", async () => {
    const created = await create();
    await destroy(created);
    expect(await processesNaming(run.folder)).toEqual([]);
    await expect(readdir(created.outs.dataDir)).rejects.toMatchObject({ code: "ENOENT" });
    expect(run.lines).toEqual([]);
  });

  test("of one that has ended is done", async () => {
    const created = await create();
    await kill(created);
    await destroy(created);
    await expect(readdir(created.outs.dataDir)).rejects.toMatchObject({ code: "ENOENT" });
  });

  test("keeps what was not forwarded, with a warning that counts it", async () => {
    const created = await create();
    const { dataDir } = created.outs;
    expect([await deliver(created), await deliver(created)]).toEqual([200, 200]);
    await destroy(created);
    expect(run.lines).toEqual([
      expect.stringContaining(`chat: warning: 2 deliveries were not forwarded and stay in ${dataDir}.`),
    ]);
    expect(await readdir(dataDir)).toEqual(["owner.txt", "spool.sqlite"]);
  });

  test("keeps a spool that cannot be read, with a warning", async () => {
    const created = await create();
    const { dataDir } = created.outs;
    await kill(created);
    await rm(join(dataDir, "spool.sqlite-wal"), { force: true });
    await writeFile(join(dataDir, "spool.sqlite"), "no database ".repeat(1_000));
    await destroy(created);
    expect(run.lines).toEqual([expect.stringContaining("deliveries may not have been forwarded and stay")]);
    expect(await readdir(dataDir)).toEqual(expect.arrayContaining(["owner.txt", "spool.sqlite"]));
  });

  test("and create in one run keep the port: a replacement", async () => {
    const created = await create();
    await destroy(created);
    expect((await create()).id).toBe(created.id);
  });

  test("leaves another process of the folder alone, with a warning", async () => {
    const created = await create();
    const foreign = { ...created, outs: { ...created.outs, instance: randomUUID() } };
    await destroy(foreign);
    expect(await pidsOf(created)).toEqual([created.outs.pid]);
    expect(run.lines).toEqual([expect.stringMatching(/warning: another responder runs on .*left alone$/)]);
    expect(await read(created)).toEqual(created.outs);
  });

  test("never ends a process by its pid alone", async () => {
    const created = await create();
    await kill(created);
    // The system has given the pid to another process.
    const other = spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)", run.folder]);
    const stale = await readInstance(created.outs.dataDir);
    const announced = JSON.stringify({ ...stale, pid: other.pid });
    await writeFile(join(created.outs.dataDir, "instance.json"), announced);
    await destroy(created);
    expect((await processesNaming(run.folder)).map(({ pid }) => pid)).toEqual([other.pid]);
  });

  test("on another machine warns and ends nothing", async () => {
    const created = await create();
    await destroy({ ...created, outs: { ...created.outs, machine: "another" } });
    expect(await pidsOf(created)).toEqual([created.outs.pid]);
    expect(run.lines).toEqual([expect.stringContaining("is not ended from here")]);
  });

  test("of the old name of a resource that lives ends nothing", async () => {
    const dataDir = join(run.folder, "shared");
    const old = await create({ dataDir });
    forgetDeclared();
    const renamed = await create({ dataDir, name: "renamed" });
    await destroy(old);
    expect(await read(renamed)).toEqual(renamed.outs);
    expect(run.lines.at(-1)).toBe(
      'chat: the responder stays: it is still managed by this program, as "renamed"',
    );
  });
});

describe("a process that hangs", () => {
  test("is an error for read, not gone, and delete kills it", async () => {
    const created = await create();
    process.kill(created.outs.pid, "SIGSTOP");
    const [error] = await Promise.all([failureOf(read(created)), destroy(created)]);
    expect(error).toMatchObject({ code: "timeout", subject: "chat" });
    expect(error.message).toContain(`kill -9 ${created.outs.pid}`);
    expect(await processesNaming(run.folder)).toEqual([]);
  });

  test("and was killed is gone, though a silent program has its control port now", async () => {
    const created = await create();
    await kill(created);
    const silent = await startServer(() => undefined);
    const file = join(created.outs.dataDir, "instance.json");
    const announced = JSON.parse(await readFile(file, "utf8")) as object;
    const controlPort = Number(new URL(silent.url).port);
    await writeFile(file, JSON.stringify({ ...announced, controlPort }));
    const [seen, again] = await Promise.all([read(created), create()]);
    expect(seen).toBeUndefined();
    expect(again.id).toBe(created.id);
    await silent.close();
  });
});
