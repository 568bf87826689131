import { readFile } from "node:fs/promises";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { providerSource } from "../../dist/provider/lib/resource-class.js";
import { findSecrets } from "../support/secrets.js";
import { startProvider, type Provider } from "./harness.js";

type Values = Record<string, unknown>;

interface State extends Values {
  current: string;
  keys: string[];
}

let provider: Provider;
/** Every key that a test's resource held. */
let keys: Set<string>;

beforeEach(async () => {
  keys = new Set();
  provider = await startProvider();
  await provider.configure();
});

afterEach(async () => {
  await provider.stop();
  const { stdout, stderr } = provider.printed();
  expect(findSecrets(stdout + stderr, [...keys])).toEqual([]);
  expect(stderr).not.toMatch(/^\s+at /m);
});

const argsOf = (more: Values = {}): Values => ({
  __provider: providerSource("VerificationKey"),
  name: "acme",
  ...more,
});

async function checked(more: Values = {}, olds: Values = argsOf()): Promise<Values> {
  const { inputs, failures } = await provider.check(argsOf(more), olds);
  expect(failures).toEqual([]);
  return inputs;
}

async function update(id: string, state: State, more: Values): Promise<State> {
  const inputs = await checked(more);
  expect(await provider.diff(id, state, inputs)).toEqual({ changes: true, replaces: [] });
  const updated = remember(await provider.update(id, state, inputs));
  expect(await provider.diff(id, updated, inputs)).toEqual({ changes: false, replaces: [] });
  return updated;
}

function remember(values: Values): State {
  const state = values as State;
  for (const key of state.keys) keys.add(key);
  return state;
}

describe("a state as version 1 wrote it", () => {
  const kinds = ["made", "rotated"] as const;

  async function loadState(kind: (typeof kinds)[number]): Promise<State> {
    const file = new URL("../fixtures/verification-key-state-v1.json", import.meta.url);
    return remember((JSON.parse(await readFile(file, "utf8")) as Record<typeof kind, State>)[kind]);
  }

  test.each(kinds)("(%s) is read, compared, updated and deleted", async (kind) => {
    const state = await loadState(kind);
    const { current: _, keys: __, stateVersion: ___, ...inputs } = state;
    expect(await provider.read("id", state)).toEqual({ id: "id", props: state, inputs: undefined });
    expect(await provider.diff("id", state, inputs)).toEqual({ changes: false, replaces: [] });
    expect(await provider.update("id", state, inputs)).toEqual(state);
    const rotated = await update("id", state, { ...inputs, rotation: "next" });
    expect(rotated.keys).toEqual([rotated.current, state.current]);
    expect(Buffer.from(rotated.current, "base64url")).toHaveLength(Number(state["bytes"]));
    await provider.delete("id", rotated);
  });
});
