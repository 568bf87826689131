import { mkdtemp, readFile, readdir, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createDelivery, createHandshake } from "pulumi-apichat/responder";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { providerSource } from "../../dist/provider/lib/resource-class.js";
import { UNKNOWN } from "../../dist/provider/lib/checks.js";
import { VERIFICATION_KEY, startEndpoint } from "../support/endpoint.js";
import { freePort } from "../support/http.js";
import { endProcessesNaming } from "../support/processes.js";
import { deliverTo, environmentOf, killResponders, respondersOn } from "../support/responder.js";
import { findSecrets } from "../support/secrets.js";
import { failureOf, startProvider, type Provider } from "./harness.js";

type Values = Record<string, unknown>;

const OTHER_KEY = "vk/other+test=&<secret>\"ü'-0123456789";

let folder: string;
let provider: Provider;

beforeEach(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), "pulumi-apichat-process-")));
  await startRun();
});

/** Starts a provider process: a new run of the engine. */
async function startRun(): Promise<void> {
  provider = await startProvider({
    environment: {
      PATH: process.env["PATH"] ?? "",
      XDG_STATE_HOME: folder,
      PULUMI_CONFIG_PASSPHRASE: "passphrase-of-the-provider",
    },
  });
  await provider.configure();
}

afterEach(async () => {
  await endProcessesNaming(folder);
  await provider.stop();
  await rm(folder, { recursive: true, force: true, maxRetries: 3 });
  const { stdout, stderr } = provider.printed();
  expect(findSecrets(stdout + stderr, [VERIFICATION_KEY, OTHER_KEY])).toEqual([]);
  expect(stderr).not.toMatch(/^\s+at /m);
});

const argsOf = (more: Values = {}): Values => ({
  __provider: providerSource("ResponderProcess"),
  name: "chat",
  instanceKey: "test/dev/chat",
  workspaces: { acme: { path: "/acme" } },
  verificationKeys: { acme: [VERIFICATION_KEY] },
  ...more,
});

async function checked(more: Values = {}): Promise<Values> {
  const { inputs, failures } = await provider.check(argsOf(more));
  expect(failures).toEqual([]);
  return inputs;
}

interface Created {
  id: string;
  outs: Values & { dataDir: string; port: number; pid: number };
}

const create = async (more: Values = {}): Promise<Created> =>
  (await provider.create(await checked(more))) as Created;

const urlOf = ({ outs }: Created, path = "/acme"): string => `http://127.0.0.1:${outs.port}${path}`;

describe("the lifecycle", () => {
  test("from check to delete", async () => {
    const inputs = await checked();
    const created = await create();
    const { id, outs } = created;
    expect(id).toBe(`127.0.0.1:${outs.port}`);
    expect(outs).toMatchObject({ ...inputs, stateVersion: 1 });
    expect(await provider.diff(id, outs, inputs)).toEqual({ changes: false, replaces: [] });
    expect(await provider.read(id, outs)).toEqual({ id, props: outs, inputs: undefined });

    const handshake = await fetch(
      createHandshake({ url: urlOf(created), verificationKey: VERIFICATION_KEY, challenge: "c1" }),
    );
    expect([handshake.status, await handshake.text()]).toEqual([200, "c1"]);

    const keys = { verificationKeys: { acme: [OTHER_KEY, VERIFICATION_KEY] } };
    const changed = await checked(keys);
    expect(await provider.diff(id, outs, changed)).toEqual({ changes: true, replaces: [] });
    const updated = await provider.update(id, outs, changed);
    expect(updated).toEqual({ ...outs, ...keys });
    expect(await respondersOn(outs.dataDir)).toEqual([outs.pid]);
    const verify = createHandshake({
      url: urlOf(created),
      verificationKey: OTHER_KEY,
      challenge: "c2",
    });
    expect(await (await fetch(verify)).text()).toBe("c2");

    await provider.delete(id, updated);
    expect(await respondersOn(folder)).toEqual([]);
    await expect(readdir(outs.dataDir)).rejects.toMatchObject({ code: "ENOENT" });
    await expect(fetch(urlOf(created))).rejects.toThrow("fetch failed");
  });

  test("values that a preview does not know pass check and diff, and change", async () => {
    const { id, outs } = await create();
    const unknown = await checked({ verificationKeys: { acme: UNKNOWN }, port: UNKNOWN, publicUrl: UNKNOWN });
    expect(await provider.diff(id, outs, unknown)).toEqual({ changes: true, replaces: [] });
  });

  test("the process outlives the provider, and knows nothing of its environment", async () => {
    const created = await create();
    await provider.stop();
    await startRun();
    expect(await deliverTo(urlOf(created), VERIFICATION_KEY)).toBe(200);
    const environment = await environmentOf(created.outs.pid);
    expect(environment).toMatchObject({ PATH: process.env["PATH"] });
    expect(Object.keys(environment).filter((name) => /PULUMI|XDG/.test(name))).toEqual([]);
  });
});

describe("changes while it runs", () => {
  test("forwardTo is taken over, and what was kept is forwarded then", async () => {
    const target = await startEndpoint();
    try {
      const created = await create();
      const { id, outs } = created;
      expect(await deliverTo(urlOf(created), VERIFICATION_KEY)).toBe(200);
      const inputs = await checked({
        workspaces: { acme: { path: "/acme", forwardTo: `${target.url}/in` } },
      });
      await provider.update(id, outs, inputs);
      await expect.poll(() => target.deliveries.length).toBe(1);
    } finally {
      await target.close();
    }
  });

  test("another port: it listens there, and no more on the former one", async () => {
    const created = await create();
    const { id, outs } = created;
    expect(await deliverTo(urlOf(created), VERIFICATION_KEY)).toBe(200);
    const port = await freePort();
    const moved = await provider.update(id, outs, await checked({ port }));
    expect(moved).toMatchObject({ dataDir: outs.dataDir, port });
    expect(await respondersOn(folder)).toEqual([moved["pid"]]);
    expect((await fetch(`http://127.0.0.1:${port}/healthz`)).status).toBe(200);
    await expect(fetch(urlOf(created, "/healthz"))).rejects.toThrow("fetch failed");
  });

  test("another folder: it moves with its port, and what was kept stays in the former one, counted", async () => {
    const created = await create();
    const { id, outs } = created;
    expect(await deliverTo(urlOf(created), VERIFICATION_KEY)).toBe(200);
    const dataDir = join(folder, "new");
    const moved = await provider.update(id, outs, await checked({ dataDir }));
    expect(moved).toMatchObject({ dataDir, port: outs.port });
    expect(await respondersOn(folder)).toEqual([moved["pid"]]);
    expect(provider.printed().stdout).toContain("chat: warning: 1 delivery was not forwarded and stays in");
    expect(await readdir(outs.dataDir)).toContain("spool.sqlite");
  });
});

describe("a process that has ended", () => {
  test("is gone for read, and the next create starts it on the same port with what it had kept", async () => {
    const created = await create();
    const { id, outs } = created;
    expect(await deliverTo(urlOf(created), VERIFICATION_KEY)).toBe(200);
    await killResponders(outs.dataDir);
    expect((await provider.read(id, outs)).id).toBe("");
    const again = await create();
    expect(again.id).toBe(id);
    await provider.delete(again.id, again.outs);
    expect(provider.printed().stdout).toContain("chat: warning: 1 delivery was not forwarded and stays in");
  });
});

test("1,000 workspaces are started, rotated and ended, and a start that fails shows none of 2,000 keys", async () => {
  const names = Array.from({ length: 1000 }, (_, index) => `w${index}`);
  const workspaces = Object.fromEntries(names.map((name) => [name, { path: `/${name}` }]));
  const keysOf = (...words: string[]): Values =>
    Object.fromEntries(names.map((name) => [name, words.map((word) => `${word}-key-0123456789-${name}`)]));
  const created = await create({ workspaces, verificationKeys: keysOf("first") });
  const { id, outs } = created;
  const rotated = { workspaces, verificationKeys: keysOf("second", "first") };
  const updated = await provider.update(id, outs, await checked(rotated));
  expect(updated["pid"]).toBe(outs.pid);
  for (const word of ["first", "second"])
    expect(await deliverTo(urlOf(created, "/w999"), `${word}-key-0123456789-w999`)).toBe(200);
  const failed = await failureOf(
    provider.update(id, updated, await checked({ ...rotated, host: "192.0.2.1" })),
  );
  const { stdout, stderr } = provider.printed();
  const secrets = Object.values(rotated.verificationKeys).flat() as string[];
  expect(findSecrets(JSON.stringify(failed) + stdout + stderr, secrets)).toEqual([]);
  await killResponders(outs.dataDir);
  await provider.delete(id, updated);
});

describe("failures", () => {
  test("a port that is taken is named, in one clean line", async () => {
    const holder = await startEndpoint();
    try {
      const port = Number(new URL(holder.url).port);
      const { details } = await failureOf(create({ port }));
      expect(details).toMatch(/^chat: the responder did not start: .*the port is taken/);
      expect(details).not.toContain("\n");
      expect(await respondersOn(folder)).toEqual([]);
      const request = await createDelivery("text", { url: holder.url, verificationKey: VERIFICATION_KEY });
      expect((await fetch(request)).status).toBe(200);
    } finally {
      await holder.close();
    }
  });

  test.each([
    ["a port that is taken", (port: number) => ({ port }), "the port is taken"],
    ["a host that is not here", () => ({ host: "192.0.2.1" }), "the host is no address of this machine"],
  ])("an update to %s changes nothing: the former one runs again", async (_what, more, reason) => {
    const holder = await startEndpoint();
    try {
      const created = await create();
      const { id, outs } = created;
      const config = await readFile(join(outs.dataDir, "config.json"), "utf8");
      const inputs = await checked(more(Number(new URL(holder.url).port)));
      const { details } = await failureOf(provider.update(id, outs, inputs));
      expect(details).toContain(reason);
      expect(await provider.read(id, outs)).toMatchObject({ id });
      expect(await deliverTo(urlOf(created), VERIFICATION_KEY)).toBe(200);
      expect(await readFile(join(outs.dataDir, "config.json"), "utf8")).toBe(config);
    } finally {
      await holder.close();
    }
  });
});

/** With its folder below this test's, and on this machine or on the one that wrote it. */
async function loadState(machine?: unknown): Promise<Created> {
  const file = new URL("../fixtures/responder-process-state-v1.json", import.meta.url);
  const text = (await readFile(file, "utf8")).replaceAll("/invalid", folder);
  const { id, outs } = (JSON.parse(text) as { running: Created }).running;
  return { id, outs: machine === undefined ? outs : { ...outs, machine } };
}

const inputsOf = ({ outs }: Created): Values => {
  const { port: _, pid: __, instance: ___, machine: ____, stateVersion: _____, ...inputs } = outs;
  return inputs;
};

describe("a state as version 1 wrote it", () => {
  test("is compared, and on the machine that wrote it found to have ended", async () => {
    const created = await loadState();
    expect(await provider.diff(created.id, created.outs, inputsOf(created))).toEqual({
      changes: false,
      replaces: [],
    });
    const { outs } = await create();
    const here = await loadState(outs["machine"]);
    await killResponders(outs.dataDir);
    expect(await provider.read(here.id, here.outs)).toMatchObject({ id: "" });
  });

  test("is kept on another machine, with a warning; an update starts the process here", async () => {
    const state = await loadState();
    expect(await provider.read(state.id, state.outs)).toMatchObject({ id: state.id, props: state.outs });
    expect(provider.printed().stdout).toContain(
      "chat: warning: the responder was started on another machine",
    );
    const port = await freePort();
    const updated = await provider.update(state.id, state.outs, { ...inputsOf(state), port });
    expect(updated).toMatchObject({ port, dataDir: state.outs.dataDir, stateVersion: 1 });
    expect(await respondersOn(folder)).toEqual([updated["pid"]]);
    await provider.delete(state.id, updated);
    expect(await respondersOn(folder)).toEqual([]);
  });
});
