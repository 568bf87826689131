import { ApiChatError } from "../errors/index.js";
import { orAborted } from "../lib/abort.js";
import { UNKNOWN } from "../lib/checks.js";
import { healthUrlOf, portOfId, urlsOf } from "../handshake-responder/addresses.js";
import { secretTargets, type ProcessInputs, type ProcessState } from "../handshake-responder/inputs.js";
import { instanceKeyOf } from "../handshake-responder/origin.js";
import type { PluginResource } from "./resource.js";
import type { Path } from "../lib/secret-values.js";
import type { Values } from "./wire.js";

/** `Responder`: the process of a responder. In the npm package, it is the component `HandshakeResponder`. */
export const responder: PluginResource<ProcessInputs, ProcessState> = {
  check: ({ name, project, stack, responders }, olds, news) =>
    responders.check(olds, { instanceKey: instanceKeyOf([project, stack, name]), ...news }),

  diff: async ({ responders }, id, state, news) => (await responders.diff(id, state, news)).changed,

  // Stop waiting if the run is cancelled: the next `up` finds a process that starts or ends in the meantime.
  create: async ({ responders, signal }, inputs) => {
    const { id, outs } = await orAborted(responders.create(inputs), signal);
    return { id, outs: withAddresses(outs) };
  },

  update: async ({ responders, signal }, id, state, news) =>
    withAddresses((await orAborted(responders.update(id, state, news), signal)).outs),

  read: async ({ responders, signal }, id, state) => {
    if (state === undefined) throw unreadable();
    const { props } = await orAborted(responders.read(id, state), signal);
    return props && { id, outs: withAddresses(props) };
  },

  delete: ({ responders, signal }, id, state) => orAborted(responders.delete(id, state), signal),

  previewCreate: async (_call, inputs) => ({ ...withAddresses(inputs), pid: UNKNOWN }),

  previewUpdate: async (_call, id, { pid }, news) => ({
    ...withAddresses({ ...news, port: news.port || portOfId(id) }),
    pid,
  }),

  secretsIn: (_call, { workspaces }, marked) => [
    ...(marked.some(isInUrls) ? [["urls"]] : []),
    ...(marked.some(isInOrigin) ? [["healthUrl"]] : []),
    ...secretTargets(workspaces),
  ],
};

/** Whether an input is a part of the process's own address. */
const isInOrigin = ([name = ""]: Path): boolean => ["host", "port"].includes(name);

/** Whether an input is a part of the URLs to register. A path may be marked with its workspace. */
const isInUrls = (input: Path): boolean => {
  const [name = "", , property = "path"] = input;
  return isInOrigin(input) || name === "publicUrl" || (name === "workspaces" && property === "path");
};

const unreadable = (): ApiChatError =>
  new ApiChatError("invalid_config", "a responder cannot be read by its id: declare it as a new one", {
    operation: "responder",
  });

/** Adds the addresses of the process, as far as host and port are known. */
function withAddresses(values: ProcessInputs): Values {
  const known = { ...values, port: values.port || UNKNOWN } as const;
  return { ...known, urls: urlsOf(known), healthUrl: healthUrlOf(known) };
}
