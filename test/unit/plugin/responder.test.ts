import { expect, test, vi } from "vitest";
import { ResponderLifecycle } from "../../../provider/handshake-responder/lifecycle.js";
import type { ProcessInputs, ProcessState } from "../../../provider/handshake-responder/inputs.js";
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

/** The state of a process on a different machine, where the plugin must change nothing. */
const RUNNING = { port: 8123, pid: 42, instance: "first", machine: "another", stateVersion: 1 as const };
const ID = "127.0.0.1:8123";

/** Replaces create and update with mocks that start no process. Returns the list of inputs that they receive. */
function standIn(): ProcessInputs[] {
  const calls: ProcessInputs[] = [];
  const run = (inputs: ProcessInputs): ProcessState => {
    calls.push(inputs);
    return { ...inputs, ...RUNNING };
  };
  const { prototype } = ResponderLifecycle;
  vi.spyOn(prototype, "create").mockImplementation(async (inputs) => ({ id: ID, outs: run(inputs) }));
  vi.spyOn(prototype, "update").mockImplementation(async (_id, _olds, inputs) => ({ outs: run(inputs) }));
  return calls;
}

const ACME = { verificationKeys: secret(VERIFICATION_KEY) };
const ONE = { workspaces: { acme: ACME } };
const TWO = {
  workspaces: {
    acme: { ...ACME, forwardTo: "http://127.0.0.1:3000/?token=1" },
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

test("read, update and the preview of an update return what create returned for two workspaces", async () => {
  const calls = standIn();
  const inputs = await checked(TWO);
  const { id, outs } = await responder.create(inputs);
  expect(id).toBe(ID);
  expect(clear(outs)).toEqual({ ...clear(inputs), ...RUNNING, urls, healthUrl: `${base}/healthz` });
  expect(secretsIn(outs)).toEqual(SECRETS);
  const other = { verificationKeys: [VERIFICATION_KEY] };
  expect(calls[0]).toMatchObject({ name: "acme", host: "127.0.0.1", workspaces: { other } });

  expect(await responder.read(id, outs, inputs)).toEqual({ id, outs, inputs });
  expect((await responder.diff(id, outs, inputs)).changes).toBe(false);
  const moved = await checked({ ...ONE, publicUrl: "https://tunnel.example" }, inputs);
  const difference = await responder.diff(id, outs, moved, { oldInputs: inputs });
  expect(difference).toMatchObject({ changes: true, replaces: [] });
  expect(difference.detailed).toEqual({ workspaces: "UPDATE", publicUrl: "ADD" });
  const preview = await responder.update(id, outs, inputs, { preview: true });
  const { instance: _instance, machine: _machine, stateVersion: _version, ...shown } = clear(outs);
  expect(clear(preview)).toEqual(shown);
  expect(secretsIn(preview)).toEqual(SECRETS);
  expect(await responder.update(id, outs, inputs)).toEqual(outs);
  await responder.delete(id, outs);
  const warning = [responder.urn, 2];
  expect(plugin.lines.map(({ urn, severity }) => [urn, severity])).toEqual([warning, warning]);
});

const WITHOUT_ACME = { workspaces: { ...TWO.workspaces, acme: UNKNOWN }, port: 8123 };

test.each<[string, Marked, Marked]>([
  ["no port", TWO, { urls: { acme: UNKNOWN, other: UNKNOWN }, port: UNKNOWN, healthUrl: UNKNOWN }],
  ["a port", { ...TWO, port: 8123 }, { urls, port: 8123 }],
  ["a port but no workspaces", { workspaces: UNKNOWN, port: 8123 }, { urls: UNKNOWN, port: 8123 }],
  ["a port but not every workspace", WITHOUT_ACME, { urls: { ...urls, acme: UNKNOWN }, port: 8123 }],
])("with %s, the preview of a create shows all addresses that are known", async (_, program, known) => {
  const { outs } = await responder.create(await checked(program), { preview: true });
  expect(clear(outs)).toMatchObject({ ...known, pid: UNKNOWN });
});

test.each<[Marked, string[]]>([
  [{ workspaces: { acme: { ...ACME, path: secret("/hidden") } } }, ["urls", "workspaces.acme.path"]],
  [{ ...ONE, publicUrl: secret("https://hidden.example") }, ["publicUrl", "urls"]],
  [{ ...ONE, host: secret("127.0.0.1") }, ["healthUrl", "host", "urls"]],
])("outputs with an address are secret if a part of the address is: %#", async (program, hidden) => {
  standIn();
  const { outs } = await responder.create(await checked(program));
  expect(secretsIn(outs)).toEqual([...hidden, "workspaces.acme.verificationKeys"].toSorted());
});

test("create stops waiting for a process after the time in customTimeouts, or when the run ends", async () => {
  vi.spyOn(ResponderLifecycle.prototype, "create").mockReturnValue(new Promise(() => {}));
  const inputs = await checked(ONE);
  const late = await failureOf(responder.create(inputs, { timeout: 0.1 }));
  expect(late.details).toMatch(/^acme: .*customTimeouts/);
  const begun = failureOf(responder.create(inputs));
  await plugin.cancel();
  expect((await begun).details).toMatch(/^acme: .*the run was ended/);
});
