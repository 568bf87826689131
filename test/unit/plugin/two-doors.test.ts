import { expect, test } from "vitest";
import { VerificationKey } from "../../../provider/dynamic.js";
import { UnfinishedError } from "../../../provider/webhook/lifecycle.js";
import { SEED } from "../../support/derived-keys.js";
import { unmarked } from "../../support/dynamic.js";
import {
  API_KEY,
  ApiChatWebhook,
  FOREIGN,
  OTHER_KEY,
  refuseHandshake,
  startAcme,
  startRun,
  VERIFICATION_KEY,
  type Acme,
} from "../webhook/harness.js";
import {
  clear,
  isolatePlugins,
  partOf,
  resourceOf,
  startRun as startPlugin,
  type Failure,
  type Values,
} from "./harness.js";

// The same program through the functions of the dynamic provider and through the plugin, each against a service of its own.

isolatePlugins();

/** What a door does for a resource. */
interface Door {
  check(olds: Values, news: Values): Promise<{ inputs: Values; failures: Failure[] }>;
  diff(id: string, olds: Values, news: Values): Promise<boolean>;
  create(inputs: Values): Promise<{ id: string; outs: Values }>;
  read(id: string, outs: Values): Promise<Values>;
  update(id: string, olds: Values, news: Values): Promise<Values>;
  delete(id: string, outs: Values): Promise<void>;
}

const SOURCE = { __provider: "source", name: "acme" };

/** What the dynamic provider stores, less what it alone has. */
const less = ({ name, __provider, ...values }: Values): Values => {
  expect({ name, __provider }).toEqual(SOURCE);
  return values;
};

type Dynamic = typeof ApiChatWebhook | typeof VerificationKey;

const full = (values: Values): Values => ({ ...values, ...SOURCE });

/** `provider` is called for each operation: a new run has another one. */
function dynamicDoor(provider: () => Dynamic): Door {
  interface Provider {
    check(olds: Values, news: Values): Promise<{ inputs: Values; failures: Failure[] }>;
    diff(id: string, olds: Values, news: Values): Promise<{ changes: boolean }>;
    create(inputs: Values): Promise<{ id: string; outs: Values }>;
    read(id: string, outs: Values): Promise<{ props?: Values }>;
    update(id: string, olds: Values, news: Values): Promise<{ outs: Values }>;
    delete(id: string, outs: Values): Promise<void>;
  }
  const of = (): Provider => provider() as unknown as Provider;
  return {
    check: async (olds, news) => {
      const { inputs, failures } = await of().check(
        Object.keys(olds).length > 0 ? full(olds) : {},
        full(news),
      );
      return { inputs: less(inputs), failures };
    },
    diff: async (id, olds, news) => (await of().diff(id, full(olds), full(news))).changes,
    create: async (inputs) => {
      const { id, outs } = await of().create(full(inputs));
      return { id, outs: less(outs) };
    },
    read: async (id, outs) => {
      const { props } = await of().read(id, full(outs));
      return props ? less(props) : {};
    },
    update: async (id, olds, news) => less((await of().update(id, full(olds), full(news))).outs),
    delete: (id, outs) => of().delete(id, full(outs)),
  };
}

function pluginDoor(type: string): Door {
  const resource = resourceOf(type);
  return {
    check: async (olds, news) => {
      const { inputs, failures } = await resource.check(news, olds);
      return { inputs: clear(inputs), failures };
    },
    diff: async (id, olds, news) => (await resource.diff(id, olds, news)).changes,
    create: async (inputs) => {
      const { id, outs } = await resource.create(inputs);
      return { id, outs: clear(outs) };
    },
    read: async (id, outs) => clear((await resource.read(id, outs))?.outs ?? {}),
    update: async (id, olds, news) => clear(await resource.update(id, olds, news)),
    delete: (id, outs) => resource.delete(id, outs),
  };
}

/** What one call gives or throws: its text, and what it leaves. */
async function outcomeOf(work: Promise<unknown>): Promise<unknown> {
  try {
    return { value: await work };
  } catch (error) {
    const left = error instanceof UnfinishedError ? less({ ...SOURCE, ...error.properties }) : undefined;
    const part = "metadata" in (error as object) ? partOf(error as never) : undefined;
    const { message, details = message } = error as { message: string; details?: string };
    return {
      text: details,
      left: left ?? (part && clear(part.properties)),
    };
  }
}

/** A new run of each door. */
async function startRuns(): Promise<void> {
  startRun();
  await startPlugin();
}

/** Everything that the life of a resource gives: a check, a create, a refresh, an update to `next`, a refresh, a delete. */
async function live(door: Door, given: Values, next: Values, between: () => unknown): Promise<unknown[]> {
  const outcomes: unknown[] = [];
  const note = async <T>(work: Promise<T>): Promise<T | undefined> => {
    outcomes.push(await outcomeOf(work));
    return work.catch(() => undefined);
  };
  const checked = await note(door.check({}, given));
  if (!checked || checked.failures.length > 0) return outcomes;
  const created = await note(door.create(checked.inputs));
  if (!created) return outcomes;
  const { id, outs } = created;
  await between();
  const seen = (await note(door.read(id, outs))) ?? outs;
  if (Object.keys(seen).length === 0) return outcomes;
  const again = await note(door.check(checked.inputs, next));
  if (!again || again.failures.length > 0) return outcomes;
  await note(door.diff(id, seen, again.inputs));
  const updated = (await note(door.update(id, seen, again.inputs))) ?? seen;
  await note(door.diff(id, updated, again.inputs));
  await startRuns();
  await note(door.delete(id, updated));
  return outcomes;
}

/** Without what differs between two services and two moments. */
const comparable = (value: unknown): unknown =>
  JSON.parse(
    JSON.stringify(value)
      .replace(/127\.0\.0\.1:\d+/g, "host")
      .replace(/"claimId":"[^"]+"/g, '"claimId":""')
      .replace(/(\/|the bot |, not )f1[0-9a-f]{8,}/g, "$1bot")
      .replace(/\b[\d, ]+ ms\b/g, "ms"),
  );

const cases: Record<string, (started: Acme) => { more?: Values; next?: Values; between?: () => unknown }> = {
  "a plain life": () => ({}),
  "another URL and key": ({ endpoint }) => ({ next: { webhookUrl: `${endpoint.url}/?token=1` } }),
  "settings of every kind": () => ({
    more: { onExisting: "replace", preflight: "warn", timeouts: { readySeconds: 1 } },
    next: { preflight: "off" },
  }),
  "bad values": () => ({ more: { webhookUrl: "acme", onExisting: "x", timeouts: { x: 1 }, apiKey: "" } }),
  "a conflict": ({ acme }) => (acme.takeOver(FOREIGN), {}),
  "a takeover": ({ acme }) => (acme.takeOver(FOREIGN), { more: { onExisting: "replace" } }),
  "a wrong API key": () => ({ more: { apiKey: OTHER_KEY } }),
  "a refused handshake": ({ emulator }) => {
    emulator.injectFault({ ...refuseHandshake, times: Infinity });
    return { more: { timeouts: { requestSeconds: 1, readySeconds: 0 } } };
  },
  "an unverified webhook": () => ({ more: { timeouts: { readySeconds: 0 } } }),
  "a drifted URL": ({ acme }) => ({ between: () => acme.change({ webhook_url: "http://127.0.0.1:9/" }) }),
  "a drifted key": ({ acme }) => ({
    between: () => acme.change({ webhook_verification_key: "another-key-0123456789" }),
  }),
  "a foreign webhook in its place": ({ acme }) => ({ between: () => acme.takeOver(FOREIGN) }),
  "a rotated API key": ({ acme }) => ({ between: () => (acme.apiKey = OTHER_KEY) }),
  "a webhook that is gone": ({ acme }) => ({ between: () => acme.removeRegistration() }),
};

test.each(Object.keys(cases))("both doors store and say the same: %s", async (name) => {
  const options = name.includes("unverified") ? { statusAfterSet: "pending" } : {};
  const liveBehind = async (door: Door): Promise<unknown> => {
    await startRuns();
    const started = await startAcme(options);
    const { more, next, between } = cases[name]!(started);
    const { name: _, ...args } = started.args;
    const given = { ...args, ...more };
    return comparable(await live(door, given, { ...given, ...next }, between ?? (() => {})));
  };
  expect(await liveBehind(pluginDoor("ApiChatWebhook"))).toEqual(
    await liveBehind(dynamicDoor(() => ApiChatWebhook)),
  );
});

const nothing = (): void => {};

const ids = (outcomes: unknown[]): unknown =>
  JSON.parse(JSON.stringify(outcomes).replace(/[0-9a-f-]{36}/g, "id"));

const derived = { derivedFrom: SEED, rotations: ["2026-12"] };

test.each<[string, Values, Values]>([
  ["given keys", { initial: VERIFICATION_KEY }, { initial: API_KEY, keep: 1 }],
  ["derived keys", derived, { ...derived, rotations: ["2027-03", "2026-12"] }],
  ["a given key that is derived from then on", { initial: VERIFICATION_KEY }, derived],
  ["bad values", { keep: 20, bytes: 1, rotation: "", initial: "***", subject: 5 }, {}],
  ["a bad derivation", { derivedFrom: "short", rotations: [], keep: "2" }, {}],
])("both doors store and say the same: %s", async (_, given, next) => {
  const dynamic = await live(
    dynamicDoor(() => unmarked(VerificationKey)),
    given,
    next,
    nothing,
  );
  expect(ids(await live(pluginDoor("VerificationKey"), given, next, nothing))).toEqual(ids(dynamic));
});
