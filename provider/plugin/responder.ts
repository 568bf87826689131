import { ApiChatError } from "../errors/index.js";
import { orAborted } from "../lib/abort.js";
import { isUnknown, UNKNOWN } from "../lib/checks.js";
import { HEALTH_PATH } from "../lib/url.js";
import {
  choosePort,
  instanceKeyOf,
  joinUrl,
  originOf,
  portOfId,
  webhookUrlOf,
} from "../handshake-responder/addresses.js";
import { DYNAMIC_PROCESS, type ProcessInputs, type ProcessState } from "../handshake-responder/inputs.js";
import { ResponderProcess } from "../handshake-responder/lifecycle.js";
import type { PluginResource } from "./resource.js";
import type { Path } from "../lib/secret-values.js";
import type { Values } from "./wire.js";

/** `Responder`: the process of a responder. In the npm package, it is the component `HandshakeResponder`. */
export const responder: PluginResource = {
  properties: DYNAMIC_PROCESS,

  // A cancelled run stops waiting: the next `up` finds a process that starts or ends in the meantime.
  lifecycle: ({ name, project, stack, signal }) => ({
    ...ResponderProcess,

    check: (olds: Partial<ProcessInputs>, news) =>
      ResponderProcess.check(olds, { instanceKey: instanceKeyOf([project, stack, name]), ...news }),

    create: async (inputs: ProcessInputs) => {
      const { id, outs } = await orAborted(ResponderProcess.create(inputs), signal);
      return { id, outs: withAddresses(outs) };
    },

    update: async (id, state: ProcessState, news: ProcessInputs) => {
      const { outs } = await orAborted(ResponderProcess.update(id, state, news), signal);
      return { outs: withAddresses(outs) };
    },

    read: async (id, state: ProcessState) => {
      if (Object.keys(state).length === 0) throw unreadable();
      const { props, ...seen } = await orAborted(ResponderProcess.read(id, state), signal);
      return props ? { ...seen, props: withAddresses(props) } : {};
    },

    delete: (id, state: ProcessState) => orAborted(ResponderProcess.delete(id, state), signal),
  }),

  previewCreate: async (inputs: ProcessInputs) => ({ ...withAddresses(inputs), pid: UNKNOWN }),

  previewUpdate: (id, { pid }: ProcessState, news: ProcessInputs) => ({
    ...news,
    ...addressesOf({ ...news, port: choosePort(news.port, portOfId(id)) }),
    pid,
  }),

  repeatsIn: (_values, marked) => [
    ...(marked.some(isInUrls) ? [["urls"]] : []),
    ...(marked.some(isInOrigin) ? [["healthUrl"]] : []),
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

const withAddresses = (values: ProcessInputs): Values => ({ ...values, ...addressesOf({ ...values }) });

/** The addresses of the process, as far as host and port are known. */
function addressesOf({ host, port, publicUrl, workspaces }: Values): Values {
  const isKnown = typeof port === "number" && port > 0 && !isUnknown(host);
  const origin = isKnown ? originOf(String(host), port) : UNKNOWN;
  const base = typeof publicUrl === "string" ? publicUrl : origin;
  const urls = Object.entries(workspaces as Record<string, { path: string } | typeof UNKNOWN>).map(
    ([name, workspace]) => [name, urlOf(base, name, workspace)],
  );
  return {
    urls: workspaces === UNKNOWN ? UNKNOWN : Object.fromEntries(urls),
    port: isKnown ? port : UNKNOWN,
    healthUrl: origin === UNKNOWN ? UNKNOWN : joinUrl(origin, HEALTH_PATH),
  };
}

function urlOf(base: string, name: string, workspace: { path: string } | string): string {
  if (typeof workspace === "string") return UNKNOWN;
  return [base, workspace.path].some(isUnknown) ? UNKNOWN : webhookUrlOf(base, name, workspace.path);
}
