import type * as z from "zod";
import {
  deleteWebhookRequest,
  getWebhookRequest,
  setWebhookRequest,
  type RegistrationAction,
  type WebhookConfiguration,
} from "../../../schema/registration.js";
import {
  bearerOf,
  HttpError,
  isSameKey,
  parseBody,
  readObject,
  rejectFields,
  rejectKey,
} from "../request-checks.js";
import type { EmulatorState, WorkspaceState } from "../state.js";
import type { Reading, SwitchSettings } from "../open-point-options.js";
import { publishWorkspace, readConfiguration, register } from "../workspaces.js";
import { toJson, type HttpResponse, type Identify } from "./exchange.js";
import { performHandshake } from "./handshake.js";

const requestSchemas: Record<RegistrationAction, z.ZodType> = {
  "get-webhook": getWebhookRequest,
  "set-webhook": setWebhookRequest,
  "delete-webhook": deleteWebhookRequest,
};

/**
 * Identifies an action of the registration interface (section 4.1). Checks the address, the method, the
 * action and the key, and only then the rest of the body.
 */
export const identifyAction: Identify = (state, request, record, text) => {
  const [action, ...more] = request.address.searchParams.getAll("action");
  if (isAction(action)) record.operation = action;
  const candidates = workspacesAt(state, request.address);
  if (candidates.length === 1) record.workspace = candidates[0]?.name ?? null;
  if (candidates.length === 0) throw new HttpError(404, "there is no workspace at this address");
  if (request.method !== "POST") throw new HttpError(405, "use POST", { headers: { allow: "POST" } });
  if (!isAction(action) || more.length > 0) {
    throw new HttpError(404, `the query must contain one action: ${Object.keys(requestSchemas).join(", ")}`);
  }
  const { registrationKey } = state.settings;
  const bearer = bearerOf(request.headers);
  const given = readObject(text);
  const body = registrationKey === "body-or-bearer" ? { ChaveApi: bearer, ...given } : given;
  const addressed = candidates.find(({ apiKey }) => "ChaveApi" in body && isSameKey(body.ChaveApi, apiKey));
  if (!addressed) throw new HttpError(401, "ChaveApi is missing or wrong");
  if (registrationKey === "body-and-bearer" && !isSameKey(bearer, addressed.apiKey)) {
    throw rejectKey("Authorization: Bearer is missing or differs from ChaveApi");
  }
  const workspace = state.directory.get(addressed.routeTo ?? addressed.name) ?? addressed;
  record.workspace = workspace.name;
  const perform = async (): Promise<HttpResponse> => {
    try {
      return toJson(200, await performAction(state, workspace, action, body));
    } finally {
      // Even a failed call may have changed something: failedHandshake `clears` removes the registration.
      if (action !== "get-webhook") publishWorkspace(state, workspace);
    }
  };
  return { operation: action, workspace, perform: () => state.turns.run(workspace, perform) };
};

/** Returns the workspaces at an address; the API key tells them apart. */
function workspacesAt({ directory }: EmulatorState, { pathname, searchParams }: URL): WorkspaceState[] {
  const hasQuery = (wanted: string): boolean =>
    [...new URLSearchParams(wanted)].every(([name, value]) => searchParams.getAll(name).includes(value));
  return [...directory.values()].filter(({ path, query }) => path === pathname && hasQuery(query));
}

function isAction(text: string | undefined): text is RegistrationAction {
  return text !== undefined && Object.hasOwn(requestSchemas, text);
}

/** The response of a successful operation (section 2.2). */
interface Envelope {
  status: "ok";
  data?: unknown;
}

async function performAction(
  state: EmulatorState,
  workspace: WorkspaceState,
  action: RegistrationAction,
  body: object,
): Promise<Envelope> {
  const { settings } = state;
  parseBody(requestSchemas[action], body);
  if (action === "get-webhook" && !workspace.everSet) return respondBeforeFirstSet(settings.beforeFirstSet);
  if (action === "set-webhook") await setWebhook(state, workspace, parseBody(setWebhookRequest, body));
  if (action === "delete-webhook") register(workspace, null);
  return { status: "ok", data: presentConfiguration(workspace, settings) };
}

/** Registers the webhook if the handshake passes. If it fails, `failedHandshake` decides what happens. */
async function setWebhook(
  state: EmulatorState,
  workspace: WorkspaceState,
  { webhook_url, webhook_verification_key }: z.output<typeof setWebhookRequest>,
): Promise<void> {
  const { failedHandshake, statusAfterSet, verifyAfterMs } = state.settings;
  const set = { webhook_url, webhook_verification_key };
  const { verdict, reason } = await performHandshake(state, workspace, set);
  if (verdict === "passed") {
    const verifiesAtMs = verifyAfterMs === undefined ? null : Date.now() + verifyAfterMs;
    register(workspace, { ...set, webhook_status: statusAfterSet }, verifiesAtMs);
  } else if (failedHandshake === "unverified") {
    register(workspace, { ...set, webhook_status: "failed" });
  } else {
    if (failedHandshake === "clears") register(workspace, null);
    throw rejectFields({ webhook_url: [`the verification handshake failed: ${reason}`] });
  }
}

const nothing: WebhookConfiguration = {
  webhook_url: "",
  webhook_verification_key: "",
  webhook_status: "",
  bot_url: "",
};

function respondBeforeFirstSet(reading: Reading<"beforeFirstSet">): Envelope {
  if (reading === "not-found") throw new HttpError(404, "no webhook is registered");
  const data = {
    "empty-strings": nothing,
    "null-fields": Object.fromEntries(Object.keys(nothing).map((field) => [field, null])),
    nulls: null,
    "empty-array": [],
    missing: undefined,
  };
  return { status: "ok", data: data[reading] };
}

function presentConfiguration(
  workspace: WorkspaceState,
  { normalizeUrl, maskKey }: SwitchSettings,
): WebhookConfiguration {
  const configuration = readConfiguration(workspace);
  if (!configuration) return nothing;
  const { webhook_url: url, webhook_verification_key: key } = configuration;
  return {
    ...configuration,
    webhook_url: normalizeUrl ? toNormalUrl(url) : url,
    webhook_verification_key: maskKey ? `${key.slice(0, 2)}********${key.slice(-2)}` : key,
  };
}

/** Parsing converts the host to lower case and drops a default port. */
function toNormalUrl(text: string): string {
  const url = URL.parse(text);
  return url === null ? text : `${url.origin}${url.pathname.replace(/\/$/, "")}${url.search}`;
}
