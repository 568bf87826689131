import * as z from "zod";
import { streamSSE } from "hono/streaming";
import {
  type KnownOutbound,
  OutboundFormatError,
  parseSentOutbound,
} from "../../../schema/parse-outbound.js";
import { VERSION } from "../../lib/version.js";
import { getOrCreateConversation } from "../conversations.js";
import { sendReply } from "../deliveries/delivery.js";
import { HttpError } from "../errors.js";
import { faultRule } from "../faults.js";
import type { WebhookConfiguration } from "../../../schema/registration.js";
import { registrationFields, workspaceOptions } from "../options.js";
import { sendAsContact } from "../service/messages.js";
import { type EmulatorState, nextRecord } from "../state.js";
import { switches } from "../switches.js";
import {
  changeWorkspace,
  createWorkspace,
  publishWorkspace,
  readConfiguration,
  register,
  removeWorkspace,
  resetState,
  unregister,
  workspaceChange,
} from "../workspaces.js";
import { type ControlApp, type ControlContext, findWorkspace, readBody, readQuery } from "./requests.js";
import type { ContactMessageAnswer, HealthView, ReplyAnswer, SettingsView } from "./shapes.js";
import { subscribeTo, type Viewer, viewRecord, viewWorkspace } from "./views.js";

const anything = z.record(z.string(), z.unknown());

/** The emulator as a whole, its workspaces, what a person sends by hand, and its faults. */
export function addRoutes(api: ControlApp, state: EmulatorState): void {
  addEmulatorRoutes(api, state);
  addWorkspaceRoutes(api, state);
  addMessageRoutes(api, state);
  addFaultRoutes(api, state);
}

function addEmulatorRoutes(api: ControlApp, state: EmulatorState): void {
  const { directory, settings, flows } = state;

  api.get("/health", (context) => {
    const data = settings.data ?? null;
    const health: HealthView = { status: "ok", version: VERSION, workspaces: directory.size, data };
    return context.json(health);
  });

  api.get("/settings", (context) => {
    const chosen = Object.entries(settings).filter(([name]) => Object.hasOwn(switches, name));
    const shown = Object.fromEntries(chosen.flatMap(([name, value]) => flatten(name, value)));
    const view: SettingsView = { switches: shown, flows: [...flows.keys()] };
    return context.json(view);
  });

  api.get("/events", (context) => {
    readQuery(context, z.strictObject({}));
    return streamEvents(context, context.var.viewer);
  });

  const resetBody = z.strictObject({ workspaces: z.boolean().default(false) });
  api.post("/reset", async (context) => {
    await resetState(state, await readBody(context, resetBody));
    return context.body(null, 204);
  });
}

/** A group of switches under the names of each, such as `handshake.encoding`. */
function flatten(name: string, value: unknown): [string, string | number | boolean][] {
  if (typeof value === "object" && value !== null) {
    return Object.entries(value).flatMap(([key, inner]) => flatten(`${name}.${key}`, inner));
  }
  const isShown = typeof value === "string" || typeof value === "number" || typeof value === "boolean";
  return isShown ? [[name, value]] : [];
}

function addWorkspaceRoutes(api: ControlApp, state: EmulatorState): void {
  const PATH = "/workspaces/:name";
  const workspaceOf = (context: ControlContext) => findWorkspace(state, context.req.param("name"));

  api.get("/workspaces", (context) =>
    context.json(Array.from(state.directory.values(), (one) => viewWorkspace(context.var.viewer, one))),
  );

  api.post("/workspaces", async (context) => {
    const workspace = createWorkspace(state, await readBody(context, workspaceOptions));
    return context.json(viewWorkspace(context.var.viewer, workspace), 201);
  });

  api.get(PATH, (context) => context.json(viewWorkspace(context.var.viewer, workspaceOf(context))));

  api.patch(PATH, async (context) => {
    const workspace = workspaceOf(context);
    changeWorkspace(state, workspace, await readBody(context, workspaceChange));
    return context.json(viewWorkspace(context.var.viewer, workspace));
  });

  api.delete(PATH, (context) => {
    removeWorkspace(state, workspaceOf(context).name);
    return context.body(null, 204);
  });

  api.put(`${PATH}/registration`, async (context) => {
    const workspace = workspaceOf(context);
    const fields = await readBody(context, registrationOver(readConfiguration(workspace)));
    register(workspace, { ...fields, webhook_status: "verified" });
    publishWorkspace(state, workspace);
    return context.json(viewWorkspace(context.var.viewer, workspace));
  });

  api.delete(`${PATH}/registration`, (context) => {
    const workspace = workspaceOf(context);
    unregister(workspace);
    publishWorkspace(state, workspace);
    return context.body(null, 204);
  });
}

/** A new registration. Without a key, the registered one stays: somebody has changed the URL alone. */
function registrationOver(registered: WebhookConfiguration | null) {
  if (registered === null) return registrationFields;
  const { webhook_verification_key: key } = registrationFields.shape;
  return registrationFields.extend({
    webhook_verification_key: key.default(registered.webhook_verification_key),
  });
}

function addMessageRoutes(api: ControlApp, state: EmulatorState): void {
  api.post("/workspaces/:name/messages", async (context) => {
    const workspace = findWorkspace(state, context.req.param("name"));
    const { status, body = null } = await sendAsContact(state, workspace, await readBody(context, anything));
    const answer: ContactMessageAnswer = { status, body };
    return Response.json(answer, { status: status >= 400 ? status : 200 });
  });

  api.post("/workspaces/:name/replies", async (context) => {
    const workspace = findWorkspace(state, context.req.param("name"));
    const parsed = parseReply(await context.req.text());
    const { sender_id, conv_id, message_type: _type, private: _private, ...content } = parsed;
    const party = { contactId: sender_id, conversationId: conv_id };
    const conversation = getOrCreateConversation(state, workspace, party);
    const { message, delivery } = sendReply(state, workspace, conversation, { from: "agent", content });
    const shown = delivery === undefined ? null : viewRecord(context.var.viewer, delivery);
    const answer: ReplyAnswer = { message, delivery: shown };
    return context.json(answer, 201);
  });
}

/** From the text: a conversation id beyond the safe integers keeps its digits. */
function parseReply(text: string): KnownOutbound["message"] {
  try {
    const parsed = parseSentOutbound(withDefaults(text));
    if (parsed.kind !== "unknown") return parsed.message;
  } catch (error) {
    if (error instanceof OutboundFormatError) throw new HttpError(422, error.message);
    throw error;
  }
  throw new HttpError(
    422,
    "type: must be one of the seven kinds; content_type: button_template, generic_template or none",
  );
}

/** The same in every reply, so it may be left out. Of a field that is twice in JSON the last one counts. */
const withDefaults = (text: string): string =>
  text.replace(/^\s*\{(?=\s*")/, '{"message_type":"outgoing","private":false,');

function addFaultRoutes(api: ControlApp, state: EmulatorState): void {
  const { faults } = state;

  api.get("/faults", (context) => context.json(faults.views));

  api.post("/faults", async (context) => {
    const rule = await readBody(context, faultRule);
    // A misspelt name would be a fault that never matches.
    if (rule.workspace !== undefined) findWorkspace(state, rule.workspace);
    return context.json(faults.add(nextRecord(state, "fault").id, rule), 201);
  });

  api.delete("/faults", (context) => {
    faults.clear();
    return context.body(null, 204);
  });

  api.delete("/faults/:id", (context) => {
    const id = context.req.param("id");
    if (!faults.remove(id)) throw new HttpError(404, `there is no fault ${JSON.stringify(id)}`);
    return context.body(null, 204);
  });
}

/** How much may wait for a client that reads slowly; then its connection is closed, and it begins again. */
const WAITING_BYTES = 8 * 1024 * 1024;

const HEARTBEAT_MS = 15_000;

/** The live stream as server-sent events. It ends with the emulator, or when the client goes or falls behind. */
function streamEvents(context: ControlContext, viewer: Viewer): Response {
  // hono answers HEAD as GET: the stream would have no reader.
  if (context.req.method === "HEAD")
    throw new HttpError(405, "takes GET only", { headers: { allow: "GET" } });
  const { closing } = viewer.state.outgoing;
  // Sent at once, not when a proxy's buffer is full.
  context.header("x-accel-buffering", "no");
  return streamSSE(context, async (stream) => {
    const ended = Promise.withResolvers<void>();
    let waitingBytes = 0;
    let count = 0;
    let last = stream.write(": live\n\n") as Promise<unknown>;
    const write = (bytes: number, work: () => Promise<unknown>): void => {
      waitingBytes += bytes;
      last = last.then(work).then(() => (waitingBytes -= bytes));
      if (waitingBytes <= WAITING_BYTES) return;
      context.env.incoming.socket.destroy();
      ended.resolve();
    };
    const unsubscribe = subscribeTo(viewer, (event) => {
      const data = JSON.stringify(event);
      count += 1;
      const message = { id: String(count), event: event.type, data };
      write(data.length, () => stream.writeSSE(message));
    });
    const heartbeat = setInterval(() => write(0, () => stream.write(":\n\n")), HEARTBEAT_MS);
    stream.onAbort(() => ended.resolve());
    closing.addEventListener("abort", () => ended.resolve(), { once: true });
    if (closing.aborted) ended.resolve();
    await ended.promise;
    unsubscribe();
    clearInterval(heartbeat);
  });
}
