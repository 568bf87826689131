import * as z from "zod";
import { Hono, type MiddlewareHandler } from "hono";
import { RESPONSE_ALREADY_SENT } from "@hono/node-server/utils/response";
import { methodNotAllowed } from "hono/method-not-allowed";
import {
  type KnownOutbound,
  OutboundFormatError,
  parseSentOutbound,
} from "../../../schema/parse-outbound.js";
import { VERSION } from "../../lib/version.js";
import { sendFromContact } from "../contact.js";
import { getOrCreateConversation } from "../conversations.js";
import { resendDelivery, sendReply } from "../deliveries/delivery.js";
import { HttpError } from "../request-checks.js";
import { faultRule } from "../faults.js";
import { registrationFields, workspaceOptions } from "../options.js";
import {
  type Conversation,
  type DeliveryRecord,
  type EmulatorState,
  type HandshakeRecord,
  type RecordedRequest,
  type WorkspaceState,
} from "../state.js";
import { switchSettings } from "../open-point-options.js";
import { listRecords } from "../wait.js";
import {
  changeWorkspace,
  createWorkspace,
  injectFault,
  removeWorkspace,
  resetState,
  takeOver,
} from "../workspaces.js";
import {
  type ControlApp,
  type ControlContext,
  type ControlEnv,
  findById,
  listQuery,
  parseQuery,
  readJson,
  readText,
  requireWorkspace,
} from "./requests.js";
import type { HealthView, ReplyAnswer, SettingsView } from "./shapes.js";
import { subscribeTo, viewConversation, type Viewer, viewRecord, viewWorkspace } from "./views.js";

const anything = z.record(z.string(), z.unknown());

const onMethodNotAllowed = (_context: ControlContext, methods: string[]): never => {
  const allow = methods.join(", ");
  throw new HttpError(405, `use ${allow}`, { headers: { allow } });
};

/** Creates the routes of the control API, to be mounted at `/_emulator`. */
export function createApi(state: EmulatorState): ControlApp {
  const api: ControlApp = new Hono();
  const readReveal: MiddlewareHandler<ControlEnv> = (context, next) => {
    const { reveal = "false" } = context.req.query();
    if (reveal !== "true" && reveal !== "false") throw new HttpError(422, "reveal: must be true or false");
    context.set("viewer", { state, reveal: reveal === "true" });
    return next();
  };
  api.use(notCached, readReveal, methodNotAllowed({ app: api, onMethodNotAllowed }));
  addEmulatorRoutes(api, state);
  addWorkspaceRoutes(api, state);
  addFaultRoutes(api, state);
  addRecordRoutes(api, state);
  return api;
}

/** Responses change and may contain secrets. */
export const NOT_CACHED = { "cache-control": "no-store", "x-content-type-options": "nosniff" };

const notCached: MiddlewareHandler = async (context, next) => {
  await next();
  for (const [name, value] of Object.entries(NOT_CACHED)) context.res.headers.set(name, value);
};

function addEmulatorRoutes(api: ControlApp, state: EmulatorState): void {
  api.get("/health", (context) => context.json<HealthView>({ status: "ok", version: VERSION }));

  api.get("/settings", (context) =>
    context.json<SettingsView>({ switches: switchSettings.parse(state.settings) }),
  );

  api.get("/events", (context) => {
    parseQuery(context, z.strictObject({}));
    return streamEvents(context, context.var.viewer);
  });

  const resetBody = z.strictObject({ workspaces: z.boolean().default(false) });
  api.post("/reset", async (context) => {
    await resetState(state, await readJson(context, resetBody));
    return context.body(null, 204);
  });
}

function addWorkspaceRoutes(api: ControlApp, state: EmulatorState): void {
  const PATH = "/workspaces/:name";
  const find = (context: ControlContext): WorkspaceState =>
    requireWorkspace(state, context.req.param("name") ?? "");

  api.get("/workspaces", (context) =>
    context.json(Array.from(state.directory.values(), (one) => viewWorkspace(context.var.viewer, one))),
  );

  api.post("/workspaces", async (context) => {
    const workspace = createWorkspace(state, await readJson(context, workspaceOptions));
    return context.json(viewWorkspace(context.var.viewer, workspace), 201);
  });

  api.get(PATH, (context) => context.json(viewWorkspace(context.var.viewer, find(context))));

  api.patch(PATH, async (context) => {
    const workspace = find(context);
    changeWorkspace(state, workspace, await readJson(context, anything));
    return context.json(viewWorkspace(context.var.viewer, workspace));
  });

  api.delete(PATH, (context) => {
    removeWorkspace(state, find(context));
    return context.body(null, 204);
  });

  api.put(`${PATH}/registration`, async (context) => {
    const workspace = find(context);
    takeOver(state, workspace, await readJson(context, registrationFields));
    return context.json(viewWorkspace(context.var.viewer, workspace));
  });

  api.delete(`${PATH}/registration`, (context) => {
    takeOver(state, find(context), null);
    return context.body(null, 204);
  });

  api.post(`${PATH}/messages`, async (context) => {
    const workspace = find(context);
    const { status, body = null } = await sendFromContact(
      state,
      workspace,
      await readJson(context, anything),
    );
    return Response.json({ status, body }, { status: status >= 400 ? status : 200 });
  });

  api.post(`${PATH}/replies`, async (context) => {
    const workspace = find(context);
    const reply = parseReply(await readText(context));
    const party = { contactId: reply.sender_id, conversationId: reply.conv_id };
    const place = getOrCreateConversation(state, workspace, party);
    const { message, delivery } = sendReply(place, "agent", reply);
    const answer: ReplyAnswer = {
      message,
      delivery: delivery && viewRecord(context.var.viewer, delivery),
    };
    return context.json(answer, 201);
  });
}

/** Takes the unparsed string, so that a conversation id beyond the safe integers keeps its digits. */
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

/** Adds the fields that are the same in every reply. Values that the text already contains take precedence. */
const withDefaults = (text: string): string =>
  text.replace(/^\s*\{(?=\s*")/, '{"message_type":"outgoing","private":false,');

function addFaultRoutes(api: ControlApp, state: EmulatorState): void {
  const { faults } = state;

  api.get("/faults", (context) => context.json(faults.views));

  api.post("/faults", async (context) => {
    return context.json(injectFault(state, await readJson(context, faultRule)), 201);
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

type ListedRecord = DeliveryRecord | HandshakeRecord | RecordedRequest;

function addRecordRoutes(api: ControlApp, state: EmulatorState): void {
  const listDeliveries = (): DeliveryRecord[] => listRecords(state, "delivery");
  const lists: [kind: string, path: string, oldestFirst: () => readonly ListedRecord[]][] = [
    ["handshake", "/handshakes", () => listRecords(state, "handshake")],
    ["delivery", "/deliveries", listDeliveries],
    ["request", "/requests", () => state.requests],
  ];
  for (const [kind, path, list] of lists) {
    api.get(path, (context) => {
      const { limit, workspace } = parseQuery(context, listQuery);
      if (workspace !== undefined) requireWorkspace(state, workspace);
      const records = list().filter((record) => workspace === undefined || record.workspace === workspace);
      return context.json(records.slice(-limit).map((record) => viewRecord(context.var.viewer, record)));
    });

    api.get(`${path}/:id`, (context) =>
      context.json(viewRecord(context.var.viewer, findById(kind, list(), context.req.param("id")))),
    );
  }

  api.post("/deliveries/:id/resend", async (context) => {
    await readJson(context, z.strictObject({}));
    const delivery = findById("delivery", listDeliveries(), context.req.param("id"));
    const copy = resendDelivery(state, requireWorkspace(state, delivery.workspace), delivery);
    return context.json(viewRecord(context.var.viewer, copy), 202);
  });

  api.get("/conversations", (context) => {
    const { workspace, limit } = parseQuery(context, listQuery);
    const workspaces =
      workspace === undefined ? state.directory.values() : [requireWorkspace(state, workspace)];
    const newestFirst = listConversations(workspaces).toSorted(
      (a, b) => Date.parse(b.lastAt) - Date.parse(a.lastAt) || b.order - a.order,
    );
    return context.json(newestFirst.slice(0, limit).map(viewConversation));
  });

  api.get("/conversations/:id/messages", (context) => {
    const { limit } = parseQuery(context, listQuery.pick({ limit: true }));
    const conversations = listConversations(state.directory.values());
    const { messages } = findById("conversation", conversations, context.req.param("id"));
    return context.json(messages.slice(-limit));
  });
}

const listConversations = (workspaces: Iterable<WorkspaceState>): Conversation[] =>
  [...workspaces].flatMap(({ conversations }) => [...conversations.values()]);

/** How many bytes may wait for a slow client. If more wait, it is disconnected, and must reconnect. */
const WAITING_BYTES = 8 * 1024 * 1024;

const HEARTBEAT_MS = 15_000;

/**
 * The live stream as server-sent events. It ends when the emulator closes, or when the client disconnects or
 * falls behind. hono's streamSSE is not used, because it does not limit how many bytes wait for the client.
 */
function streamEvents({ req, env: { outgoing } }: ControlContext, viewer: Viewer): Response {
  // hono handles HEAD as GET, but nobody would read the stream.
  if (req.method === "HEAD") throw new HttpError(405, "use GET", { headers: { allow: "GET" } });
  // `x-accel-buffering` stops proxies from buffering.
  const headers = { "content-type": "text/event-stream", "x-accel-buffering": "no", ...NOT_CACHED };
  outgoing.writeHead(200, headers);
  const write = (text: string): void => {
    outgoing.write(text);
    if (outgoing.writableLength > WAITING_BYTES) outgoing.destroy();
  };
  write(": live\n\n");
  const unsubscribe = subscribeTo(viewer, (event) => write(`data: ${JSON.stringify(event)}\n\n`));
  const heartbeat = setInterval(() => write(":\n\n"), HEARTBEAT_MS);
  outgoing.once("close", () => {
    unsubscribe();
    clearInterval(heartbeat);
  });
  return RESPONSE_ALREADY_SENT;
}
