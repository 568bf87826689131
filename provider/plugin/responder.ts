import { orAborted } from "../lib/abort.js";
import { UNKNOWN } from "../pulumi/unknown.js";
import {
  healthUrlOf,
  portOfId,
  urlsOf,
  PROCESS_SPEC,
  type ProcessInputs,
  type ProcessState,
  instanceKeyOf,
} from "../handshake-responder/provider.js";
import type { PluginResource } from "./resource.js";
import type { Path } from "../pulumi/secret-values.js";
import type { PropertyValues } from "./wire.js";

/** `Responder`: the process of a responder. In the npm package, this is the component `HandshakeResponder`. */
export const responderResource: PluginResource = {
  properties: PROCESS_SPEC,

  // A cancelled run stops waiting; the next `up` finds out whether the process has started or ended.
  lifecycle: ({ name, project, stack, signal, responders }) => ({
    check: (olds: Partial<ProcessInputs>, news) =>
      responders.check(olds, { instanceKey: instanceKeyOf([project, stack, name]), ...news }),

    diff: (id, state: ProcessState, news: ProcessInputs) => responders.diff(id, state, news),

    create: async (inputs: ProcessInputs) => {
      const { id, outs } = await orAborted(responders.create(inputs), signal);
      return { id, outs: withAddresses(outs) };
    },

    update: async (id, state: ProcessState, news: ProcessInputs) => {
      const { outs } = await orAborted(responders.update(id, state, news), signal);
      return { outs: withAddresses(outs) };
    },

    read: async (id, state: ProcessState) => {
      const { props, ...seen } = await orAborted(responders.read(id, state), signal);
      return props ? { ...seen, props: withAddresses(props) } : {};
    },

    delete: (id, state: ProcessState) => orAborted(responders.delete(id, state), signal),
  }),

  previewCreate: async (inputs: ProcessInputs) => ({ ...withAddresses(inputs), pid: UNKNOWN }),

  previewUpdate: async (id, { pid }: ProcessState, news: ProcessInputs) => ({
    ...withAddresses({ ...news, port: news.port || portOfId(id) }),
    pid,
  }),

  repeatsIn: (_values, marked) => [
    ...(marked.some(isInUrls) ? [["urls"]] : []),
    ...(marked.some(isInOrigin) ? [["healthUrl"]] : []),
  ],
};

const isInOrigin = ([name = ""]: Path): boolean => ["host", "port"].includes(name);

/** Whether an input is part of the URLs to register. If a workspace is marked as a whole, so is its path. */
const isInUrls = (input: Path): boolean => {
  const [name = "", , property = "path"] = input;
  return isInOrigin(input) || name === "publicUrl" || (name === "workspaces" && property === "path");
};

function withAddresses(values: ProcessInputs): PropertyValues {
  const known = { ...values, port: values.port || UNKNOWN } as const;
  return { ...known, urls: urlsOf(known), healthUrl: healthUrlOf(known) };
}
