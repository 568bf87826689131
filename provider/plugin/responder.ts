import { isDeepStrictEqual } from "node:util";
import { ApiChatError } from "../errors/index.js";
import { orAborted } from "../lib/abort.js";
import {
  fail,
  isUnknown,
  kindOf,
  UNKNOWN,
  WORKSPACE_NAME,
  type CheckFailure,
  type RawInputs,
} from "../lib/checks.js";
import { defaultPath, HEALTH_PATH, mayHoldQuery, toWirePath } from "../lib/url.js";
import { choosePort, instanceKeyOf, joinUrl, originOf, portOfId } from "../handshake-responder/addresses.js";
import type { ProcessInputs, ProcessState } from "../handshake-responder/inputs.js";
import { ResponderProcess } from "../handshake-responder/lifecycle.js";
import type { PluginResource, ResourceCall } from "./resource.js";
import { refuseOthers } from "../lib/validate.js";
import type { Path } from "../lib/secret-values.js";
import type { Values } from "./wire.js";

/** `Responder`: the process of a responder. In the npm package, it is the component `HandshakeResponder`. */
export const responder: PluginResource = {
  check: async (call, olds, news) => {
    const failures = checkForm(news);
    if (failures.length > 0) return { inputs: news, failures };
    const checked = await ResponderProcess.check(olds, toProcess(call, news));
    return checked.failures.length > 0
      ? { inputs: news, failures: checked.failures }
      : { inputs: fromProcess(checked.inputs, news), failures };
  },

  diff: async (call, id, state, news) => {
    const { changed } = await ResponderProcess.diff(id, toState(call, state), toInputs(call, news));
    const isOfWorkspace = (name: string): boolean => OF_WORKSPACES.includes(name);
    if (!changed.some(isOfWorkspace)) return changed;
    const inThisForm = OF_WORKSPACES.filter((name) => !isDeepStrictEqual(state[name], news[name]));
    return [...changed.filter((name) => !isOfWorkspace(name)), ...inThisForm];
  },

  // Stop waiting if the run is cancelled: the next `up` finds a process that starts or ends in the meantime.
  create: async (call, inputs) => {
    const { id, outs } = await orAborted(ResponderProcess.create(toInputs(call, inputs)), call.signal);
    return { id, outs: toOuts(outs, inputs) };
  },

  update: async (call, id, state, news) => {
    const updated = ResponderProcess.update(id, toState(call, state), toInputs(call, news));
    return toOuts((await orAborted(updated, call.signal)).outs, news);
  },

  read: async (call, id, state) => {
    if (state === undefined) throw unreadable();
    const seen = await orAborted(ResponderProcess.read(id, toState(call, state)), call.signal);
    return "id" in seen ? { id, outs: toOuts(seen.props, state) } : undefined;
  },

  delete: (call, id, state) => orAborted(ResponderProcess.delete(id, toState(call, state)), call.signal),

  previewCreate: async (_call, inputs) => ({ ...inputs, ...addressesOf(inputs), pid: UNKNOWN }),

  previewUpdate: async (_call, id, state, news) => ({
    ...news,
    ...addressesOf({ ...news, port: choosePort(news["port"] as number | undefined, portOfId(id)) }),
    pid: state["pid"],
  }),

  secretsIn: ({ forwardTo, workspaces }, marked) => [
    ...(marked.some(isInUrls) ? [["url"], ["urls"]] : []),
    ...(marked.some(isInOrigin) ? [["healthUrl"]] : []),
    ...(mayHoldQuery(forwardTo) ? [["forwardTo"]] : []),
    ...entriesOf(workspaces)
      .filter(([, workspace]) => isObject(workspace) && mayHoldQuery(workspace["forwardTo"]))
      .map(([name]) => ["workspaces", name, "forwardTo"]),
  ],
};

/** Whether an input is a part of the process's own address. */
const isInOrigin = ([name = ""]: Path): boolean => ["host", "port"].includes(name);

/** Whether an input is a part of the URLs that the service is given. A path may be marked with its workspace. */
const isInUrls = (input: Path): boolean => {
  const [name = "", , property = "path"] = input;
  return (
    isInOrigin(input) ||
    ["path", "publicUrl"].includes(name) ||
    (name === "workspaces" && property === "path")
  );
};

const unreadable = (): ApiChatError =>
  new ApiChatError("invalid_config", "a responder cannot be read by its id: declare it as a new one", {
    operation: "responder",
  });

/** The workspace of the short form. */
const ONLY = "default";
const OF_WORKSPACE = ["verificationKeys", "subject", "path", "forwardTo"];
/** Where both forms describe workspaces. */
const OF_WORKSPACES = ["workspaces", ...OF_WORKSPACE];

/** A workspace is described in one place, as an object. What its values may be, the lifecycle checks. */
function checkForm(news: Values): CheckFailure[] {
  if (isShort(news)) return [];
  const mixed = OF_WORKSPACE.filter((name) => name in news).map((name) =>
    fail(
      `${name}: is only for a responder with a single workspace; with workspaces, set it inside one of them`,
    ),
  );
  return [...mixed, ...checkObject("workspaces", news["workspaces"]), ...checkWorkspaces(news["workspaces"])];
}

const checkWorkspaces = (workspaces: unknown): CheckFailure[] =>
  entriesOf(workspaces).flatMap(([name, workspace]) => {
    // Text that is not a name may be a key in the wrong place.
    const field = `workspaces.${WORKSPACE_NAME.test(name) ? name : "*"}`;
    const given = isObject(workspace) ? Object.keys(workspace) : [];
    return [...checkObject(field, workspace), ...refuseOthers(given, OF_WORKSPACE, `${field}: `)];
  });

const checkObject = (field: string, value: unknown): CheckFailure[] =>
  isObject(value) || value === UNKNOWN
    ? []
    : [fail(`${field}: must be an object, got ${kindOf(value)}; write { acme: { verificationKeys } }`)];

const isObject = (value: unknown): value is Values =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const isShort = (inputs: Values): boolean => !("workspaces" in inputs);

const entriesOf = (workspaces: unknown): [string, unknown][] =>
  isObject(workspaces) ? Object.entries(workspaces) : [];

/** Both forms as one, with the default paths. */
function workspacesOf(inputs: Values): [string, Values][] {
  if (isShort(inputs)) return [[ONLY, { path: "/", ...pick(inputs, OF_WORKSPACE) }]];
  return entriesOf(inputs["workspaces"]).map(([name, given]) => [
    name,
    isObject(given) ? { path: defaultPath(name), ...given } : { path: UNKNOWN, verificationKeys: UNKNOWN },
  ]);
}

const pick = (values: Values, names: readonly string[]): Values =>
  Object.fromEntries(names.filter((name) => name in values).map((name) => [name, values[name]]));

/** As the process has them: keys apart from the rest, so that they alone are secret. */
function toProcess({ name, project, stack }: ResourceCall, inputs: Values): RawInputs {
  const workspaces = workspacesOf(inputs);
  const each = (read: (workspace: Values) => unknown): unknown =>
    inputs["workspaces"] === UNKNOWN
      ? UNKNOWN
      : Object.fromEntries(workspaces.map(([workspace, given]) => [workspace, read(given)]));
  return {
    instanceKey: instanceKeyOf([project, stack, name]),
    ...pick(inputs, ["instanceKey", "host", "port", "publicUrl", "dataDir", "derivedFrom", "rotations"]),
    name,
    workspaces: each((given) => pick(given, ["path", "forwardTo"])),
    verificationKeys: each(({ verificationKeys: keys }) =>
      typeof keys === "string" && keys !== UNKNOWN ? [keys] : keys,
    ),
    subjects: each(({ subject }) => subject),
  };
}

/**
 * The checked inputs, converted back to the form that the program used. Derived keys replace the seed, which is never
 * stored in the state.
 */
function fromProcess(
  { instanceKey, dataDir, host, workspaces, verificationKeys }: ProcessInputs,
  news: Values,
): Values {
  const { derivedFrom: _seed, rotations: _rotations, subject: _subject, ...rest } = news;
  const resolved = { ...rest, instanceKey, dataDir, host };
  if (news["workspaces"] === UNKNOWN) return resolved;
  const both = Object.entries(workspaces).map(([name, workspace]) => [
    name,
    { ...workspace, verificationKeys: verificationKeys[name] },
  ]);
  const byName = Object.fromEntries(both) as Record<string, object>;
  return isShort(news) ? { ...resolved, ...byName[ONLY] } : { ...resolved, workspaces: byName };
}

const toInputs = (call: ResourceCall, inputs: Values): ProcessInputs => {
  const { subjects: _, ...known } = toProcess(call, inputs);
  return known as unknown as ProcessInputs;
};

const OF_PROCESS = ["host", "port", "pid", "instance", "machine", "isLost", "stateVersion"];

const toState = (call: ResourceCall, state: Values): ProcessState =>
  ({ ...toInputs(call, state), ...pick(state, OF_PROCESS) }) as ProcessState;

/** The inputs, where the process listens, and what tells it apart. A read passes the former state for the inputs. */
function toOuts(state: ProcessState, inputs: Values): Values {
  const { isLost: _, ...given } = inputs;
  const outs = { ...given, ...pick({ ...state }, OF_PROCESS) };
  return { ...outs, ...addressesOf(outs) };
}

/** What to give to the webhooks, as far as host and port are known. */
function addressesOf(values: Values): Values {
  const { host, port, publicUrl } = values;
  const isKnown = typeof port === "number" && port > 0 && !isUnknown(host);
  const origin = isKnown ? originOf(String(host), port) : UNKNOWN;
  const base = typeof publicUrl === "string" ? publicUrl : origin;
  const urls = workspacesOf(values).map(([name, { path }]) => [name, urlOf(base, path)] as const);
  const [only, ...others] = urls;
  return {
    urls: values["workspaces"] === UNKNOWN ? UNKNOWN : Object.fromEntries(urls),
    ...(only && others.length === 0 && { url: only[1] }),
    port: isKnown ? port : UNKNOWN,
    healthUrl: urlOf(origin, HEALTH_PATH),
  };
}

const urlOf = (root: string, path: unknown): string =>
  [root, path].some(isUnknown) ? UNKNOWN : joinUrl(root, toWirePath(String(path)));
