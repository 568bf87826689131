import type * as z from "zod";
import {
  deleteWebhookRequest,
  getWebhookRequest,
  setWebhookRequest,
  type RegistrationAction,
} from "../../schema/index.js";
import { nextRecord, type EmulatorState } from "./emulator-state.js";
import { answerRefusals } from "./error-shape.js";
import { answerStruck } from "./fault-answer.js";
import { takeFault } from "./faults.js";
import { performHandshake } from "./handshake.js";
import { keep } from "./history.js";
import { answerJson, type HttpAnswer, type HttpRequest } from "./http-server.js";
import { bearerOf, isSameKey } from "./presented-key.js";
import { countWithinRate } from "./rate-limit.js";
import type { HandshakeRecord, RecordedRequest } from "./records.js";
import { answerRecorded } from "./recorder.js";
import { Refusal } from "./refusal.js";
import { deleteWebhook, getWebhook, setWebhook, type Envelope } from "./registration.js";
import { parseBody, readObject } from "./request-body.js";
import type { RegistrationKey } from "./switches.js";
import { workspacesAt } from "./workspace-directory.js";
import { tellOf } from "./workspace-admin.js";
import { runInTurn, type WorkspaceState } from "./workspace-state.js";

const requestSchemas: Record<RegistrationAction, z.ZodType> = {
  "get-webhook": getWebhookRequest,
  "set-webhook": setWebhookRequest,
  "delete-webhook": deleteWebhookRequest,
};

/** A request whose workspace, action and API key are known to be right. */
interface Call {
  action: RegistrationAction;
  workspace: WorkspaceState;
  body: object;
}

/** Answers one request of the registration interface (section 4.1) and records it. */
export function answerRegistration(state: EmulatorState, request: HttpRequest): Promise<HttpAnswer> {
  return answerRecorded(state, "registration", request, (record) =>
    answerRefusals(state.settings.errorShape, async () => {
      const call = identifyCall(state, request, record);
      countWithinRate(call.workspace, state.settings.requestsPerSecond);
      record.fault = takeFault(state, call.action, call.workspace.name);
      return answerStruck(record.fault, () => answerCall(state, call), state.outgoing.closing);
    }),
  );
}

function identifyCall(state: EmulatorState, request: HttpRequest, record: RecordedRequest): Call {
  const candidates = workspacesAt(state.directory, request.address);
  if (candidates.length === 1) record.workspace = candidates[0]?.name;
  if (candidates.length === 0) throw new Refusal(404, "there is no workspace at this address");
  if (request.method !== "POST") throw new Refusal(405, "use POST", { headers: { allow: "POST" } });
  const action = readAction(request.address);
  const { registrationKey } = state.settings;
  const body = withApiKey(readObject(request.body, record.body), request, registrationKey);
  const addressed = candidates.find(({ apiKey }) => "ChaveApi" in body && isSameKey(body.ChaveApi, apiKey));
  if (!addressed) throw new Refusal(401, "ChaveApi is missing or wrong");
  if (registrationKey === "body-and-bearer" && !isSameKey(bearerOf(request.headers), addressed.apiKey)) {
    const headers = { "www-authenticate": "Bearer" };
    throw new Refusal(401, "Authorization: Bearer is missing or another key than ChaveApi", { headers });
  }
  const workspace = state.directory.get(addressed.owner ?? addressed.name) ?? addressed;
  record.workspace = workspace.name;
  return { action, workspace, body };
}

/** The body with its `ChaveApi`, wherever the request holds that. */
function withApiKey(body: object, { headers }: HttpRequest, reading: RegistrationKey): object {
  if (reading !== "body-or-bearer" || "ChaveApi" in body) return body;
  const key = bearerOf(headers);
  return key === undefined ? body : { ...body, ChaveApi: key };
}

function readAction(address: URL): RegistrationAction {
  const [action = "", ...more] = address.searchParams.getAll("action");
  if (isAction(action) && more.length === 0) return action;
  throw new Refusal(404, `the query needs one action: ${Object.keys(requestSchemas).join(", ")}`);
}

function isAction(text: string): text is RegistrationAction {
  return Object.hasOwn(requestSchemas, text);
}

/** Calls of one workspace are answered one after the other. */
function answerCall(state: EmulatorState, call: Call): Promise<HttpAnswer> {
  return answerRefusals(state.settings.errorShape, async () => {
    const envelope = await runInTurn(call.workspace, () => performAndTell(state, call));
    return answerJson(200, envelope);
  });
}

/** Also a refusal may have changed something: `clears` removes what stood there. */
async function performAndTell(state: EmulatorState, call: Call): Promise<Envelope> {
  try {
    return await performAction(state, call);
  } finally {
    if (call.action !== "get-webhook") tellOf(state, call.workspace);
  }
}

async function performAction(state: EmulatorState, { action, workspace, body }: Call): Promise<Envelope> {
  const { settings } = state;
  if (action === "set-webhook") {
    const registration = parseBody(setWebhookRequest, body);
    return setWebhook(workspace, registration, settings, (url, key) =>
      handshakeFor(state, workspace, url, key),
    );
  }
  parseBody(requestSchemas[action], body);
  return action === "get-webhook" ? getWebhook(workspace, settings) : deleteWebhook(workspace, settings);
}

async function handshakeFor(
  state: EmulatorState,
  workspace: WorkspaceState,
  webhookUrl: string,
  verificationKey: string,
): Promise<HandshakeRecord> {
  const fault = takeFault(state, "handshake", workspace.name);
  const target = { webhookUrl, verificationKey, ...state.settings.handshake, fault };
  const seen = await performHandshake(state.outgoing, target);
  const record = { ...nextRecord(state, "handshake"), workspace: workspace.name, ...seen };
  keep(workspace.handshakes, record);
  state.changes.publish({ kind: "handshake", handshake: record });
  return record;
}
