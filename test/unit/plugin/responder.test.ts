import { describe, expect, test, vi } from "vitest";
import { ResponderLifecycle } from "../../../provider/handshake-responder/lifecycle.js";
import type { ProcessInputs, ProcessState } from "../../../provider/handshake-responder/inputs.js";
import { SEED } from "../../support/derived-keys.js";
import { VERIFICATION_KEY } from "../webhook/harness.js";
import {
  clear,
  failureOf,
  isolatePlugins,
  resourceOf,
  secret,
  secretsIn,
  UNKNOWN,
  type Marked,
} from "./harness.js";

// The process itself is tested in test/provider/responder-lifecycle.test.ts, and through the engine.

const plugin = isolatePlugins();
const responder = resourceOf("Responder");
const { checked } = responder;

/** The address of a process on a different machine, which the plugin must not change. */
const RUNNING = { port: 8123, pid: 42, instance: "first", machine: "another", stateVersion: 1 as const };
const ID = "127.0.0.1:8123";

const stateOf = (inputs: ProcessInputs): ProcessState => ({ ...inputs, ...RUNNING });

/** Replaces create and update with versions that succeed without a process. Returns their arguments. */
function standIn(): ProcessInputs[] {
  const calls: ProcessInputs[] = [];
  vi.spyOn(ResponderLifecycle.prototype, "create").mockImplementation(async (inputs) => {
    calls.push(inputs);
    return { id: ID, outs: stateOf(inputs) };
  });
  vi.spyOn(ResponderLifecycle.prototype, "update").mockImplementation(async (_id, _olds, inputs) => {
    calls.push(inputs);
    return { outs: stateOf(inputs) };
  });
  return calls;
}

const ONE = { workspaces: { acme: { verificationKeys: secret(VERIFICATION_KEY) } } };
const TWO = {
  workspaces: {
    acme: { verificationKeys: secret(VERIFICATION_KEY), forwardTo: "http://127.0.0.1:3000/?token=1" },
    other: { verificationKeys: secret([VERIFICATION_KEY]), path: "/o", forwardTo: "http://127.0.0.1:3000/" },
  },
};

const base = "http://127.0.0.1:8123";
const urls = { acme: `${base}/acme`, other: `${base}/o` };
const SECRETS = [
  "workspaces.acme.forwardTo",
  "workspaces.acme.verificationKeys",
  "workspaces.other.verificationKeys",
];

describe("a responder of two workspaces", () => {
  test("can be created and read, and the preview of an update knows it", async () => {
    const calls = standIn();
    const inputs = await checked(TWO);
    const { id, outs } = await responder.create(inputs);
    expect(id).toBe(ID);
    expect(clear(outs)).toEqual({ ...clear(inputs), ...RUNNING, urls, healthUrl: `${base}/healthz` });
    expect(secretsIn(outs)).toEqual(SECRETS);
    expect(calls[0]).toMatchObject({ name: "acme", host: "127.0.0.1" });
    for (const { verificationKeys } of Object.values(calls[0]?.workspaces ?? {}))
      expect(verificationKeys).toEqual([VERIFICATION_KEY]);

    expect(await responder.read(id, outs, inputs)).toEqual({ id, outs, inputs });
    expect((await responder.diff(id, outs, inputs)).changes).toBe(false);
    const preview = await responder.update(id, outs, inputs, { preview: true });
    const { instance: _instance, machine: _machine, stateVersion: _version, ...shown } = clear(outs);
    expect(clear(preview)).toEqual(shown);
    expect(secretsIn(preview)).toEqual(SECRETS);
    expect(await responder.update(id, outs, inputs)).toEqual(outs);
    await responder.delete(id, outs);
    expect(plugin.lines.map(({ urn, severity }) => [urn, severity])).toEqual(
      [1, 2].map(() => [responder.urn, 2]),
    );
  });

  test("has no address in the preview of a create, unless the program sets it", async () => {
    const { outs } = await responder.create(await checked(TWO), { preview: true });
    expect(clear(outs)).toMatchObject({
      urls: { acme: UNKNOWN, other: UNKNOWN },
      port: UNKNOWN,
      pid: UNKNOWN,
      healthUrl: UNKNOWN,
    });
    expect(secretsIn(outs)).toEqual(SECRETS);
    const given = await checked({ ...TWO, port: 8123 });
    expect(clear((await responder.create(given, { preview: true })).outs)).toMatchObject({
      urls,
      port: 8123,
    });
    const tunnel = await checked({ ...TWO, publicUrl: "https://tunnel.example/a/" });
    expect(clear((await responder.create(tunnel, { preview: true })).outs)).toMatchObject({
      urls: { acme: "https://tunnel.example/a/acme", other: "https://tunnel.example/a/o" },
    });
  });
});

describe("diff names changed arguments", () => {
  test.each<[Marked, Marked, Record<string, string>]>([
    [TWO, ONE, { workspaces: "UPDATE" }],
    [
      ONE,
      { workspaces: { acme: { verificationKeys: secret(["another-key-0123456789"]) } } },
      { workspaces: "UPDATE" },
    ],
    [ONE, { workspaces: UNKNOWN }, { workspaces: "UPDATE" }],
    [ONE, { ...ONE, port: 9000, publicUrl: "https://tunnel.example" }, { port: "ADD", publicUrl: "ADD" }],
    [ONE, { ...ONE, dataDir: "/var/lib/apichat-moved" }, { dataDir: "UPDATE" }],
    [ONE, { ...ONE, derivedFrom: secret(SEED), rotations: ["1"] }, { workspaces: "UPDATE" }],
  ])("%#", async (before, after, detailed) => {
    standIn();
    const inputs = await checked(before);
    const { id, outs } = await responder.create(inputs);
    const news = await checked(after, inputs);
    const difference = await responder.diff(id, outs, news, { oldInputs: inputs });
    expect(difference).toMatchObject({ changes: true, replaces: [], detailed });
    expect(Object.keys(difference.detailed).toSorted()).toEqual(Object.keys(detailed).toSorted());
  });
});

test.each<[Marked, string[]]>([
  [
    { workspaces: { acme: { ...ONE.workspaces.acme, path: secret("/hidden") } } },
    ["urls", "workspaces.acme.path"],
  ],
  [{ ...ONE, publicUrl: secret("https://hidden.example") }, ["publicUrl", "urls"]],
  [{ ...ONE, host: secret("127.0.0.1") }, ["healthUrl", "host", "urls"]],
])("an address is as secret as its parts: %#", async (program, hidden) => {
  standIn();
  const { outs } = await responder.create(await checked(program));
  expect(secretsIn(outs)).toEqual([...hidden, "workspaces.acme.verificationKeys"].toSorted());
});

test("a preview does not know the URLs of unknown workspaces and paths", async () => {
  const unknown = await checked({ workspaces: UNKNOWN, port: 8123 });
  const { outs } = await responder.create(unknown, { preview: true });
  expect(outs).toMatchObject({ workspaces: UNKNOWN, urls: UNKNOWN, port: 8123 });
  const workspaces = { acme: UNKNOWN, other: TWO.workspaces.other };
  const partly = await responder.create(await checked({ workspaces, port: 8123 }), { preview: true });
  expect(partly.outs["urls"]).toEqual({ acme: UNKNOWN, other: `${base}/o` });
});

test("customTimeouts and the end of the run stop the wait for a process", async () => {
  vi.spyOn(ResponderLifecycle.prototype, "create").mockReturnValue(new Promise(() => {}));
  const inputs = await checked(ONE);
  const late = await failureOf(responder.create(inputs, { timeout: 0.1 }));
  expect(late.details).toMatch(/^acme: .*customTimeouts/);
  const begun = failureOf(responder.create(inputs));
  await plugin.cancel();
  expect((await begun).details).toMatch(/^acme: .*the run was ended/);
});
