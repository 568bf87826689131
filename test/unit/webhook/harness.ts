import { afterEach, beforeEach, vi } from "vitest";
import {
  startEmulator,
  type Emulator,
  type EmulatorOptions,
  type Workspace,
} from "../../../provider/emulator/index.js";
import { ApiChatWebhook } from "../../../provider/dynamic.js";
import type { WebhookInputs, WebhookState } from "../../../provider/webhook/contract.js";
import { forgetManaged } from "../../../provider/webhook/run.js";
import type { ReadResult } from "../../../provider/webhook/lifecycle.js";
import { compactState, expandState } from "../../../provider/webhook/state.js";
import { readParts } from "../../support/read-parts.js";
import {
  API_KEY,
  VERIFICATION_KEY,
  afterTests,
  startServer,
  type Answer,
  type Received,
} from "../client/harness.js";
import { expectRecordsMatchOpenApi } from "../../support/openapi.js";

export { API_KEY, VERIFICATION_KEY, failureOf, startServer } from "../client/harness.js";
export { afterTests };

/** Each test is a run of its own: nothing declared, no configuration, no environment. Gives the lines it printed. */
export function isolateRuns(): string[] {
  const lines: string[] = [];
  beforeEach(() => {
    lines.length = 0;
    vi.spyOn(console, "log").mockImplementation((line: string) => void lines.push(line));
    vi.stubEnv("APICHAT_API_KEY", undefined);
    vi.stubEnv("APICHAT_BASE_URL", undefined);
    startRun();
  });
  afterEach(() => {
    vi.restoreAllMocks();
    vi.unstubAllEnvs();
  });
  return lines;
}

/** A new run of the engine: a new provider process with this configuration. */
export function startRun(config: Record<string, string> = {}): void {
  forgetManaged();
  ApiChatWebhook.configure({ config: { get: (key) => config[key] } });
}

export interface Endpoint {
  url: string;
  received: Received[];
}

/** A webhook URL that answers every handshake with this token, as the responder does. */
export async function startEndpoint(key = VERIFICATION_KEY, path = "/hook"): Promise<Endpoint> {
  const { origin, received } = await startServer(answerHandshake(key));
  return { url: origin + path, received };
}

export const answerHandshake =
  (key = VERIFICATION_KEY): Answer =>
  (request, response) => {
    const { hub_verify_token, hub_challenge } = parametersOf(request);
    if (hub_verify_token === key) response.end(hub_challenge);
    else response.writeHead(403).end("wrong token");
  };

/** The parameters of a handshake, in whichever of the four ways it came. */
export function parametersOf({ path, headers, body }: Received): Record<string, string> {
  const type = headers["content-type"];
  if (type === "application/json") return JSON.parse(body) as Record<string, string>;
  if (type?.startsWith("multipart/")) return readParts(body);
  const query = new URL(path, "http://endpoint").searchParams;
  return Object.fromEntries(body === "" ? query : new URLSearchParams(body));
}

export interface Acme {
  emulator: Emulator;
  acme: Workspace;
  /** What the program says of acme. */
  args: { name: string; baseUrl: string; apiKey: string } & Partial<WebhookInputs>;
  endpoint: Endpoint;
  /** The actions that were called since the last look, in their order. */
  actions: () => (string | undefined)[];
}

/** An emulator with the workspaces acme and other, and acme's endpoint. */
export async function startAcme(options: EmulatorOptions = {}): Promise<Acme> {
  const emulator = await startEmulator({
    workspaces: [
      { name: "acme", apiKey: API_KEY },
      { name: "other", apiKey: "ak-other-0123456789" },
    ],
    ...options,
  });
  afterTests(async () => {
    await emulator.close();
    expectRecordsMatchOpenApi(emulator.requests, options);
  });
  const endpoint = await startEndpoint();
  const acme = emulator.workspace("acme");
  let looked = 0;
  return {
    emulator,
    acme,
    endpoint,
    args: {
      name: "acme",
      baseUrl: acme.baseUrl,
      apiKey: API_KEY,
      webhookUrl: endpoint.url,
      webhookVerificationKey: VERIFICATION_KEY,
      timeouts: { requestSeconds: 3, readySeconds: 3 },
    },
    actions: () => {
      const actions = emulator.requests.slice(looked).map(({ action }) => action);
      looked = emulator.requests.length;
      return actions;
    },
  };
}

/** The inputs as check leaves them; throws if it finds them wrong. */
export async function checked(args: { name: string } & Partial<WebhookInputs>): Promise<WebhookInputs> {
  const { inputs, failures } = await ApiChatWebhook.check({}, args);
  if (failures.length > 0) throw new Error(JSON.stringify(failures));
  return inputs;
}

export async function create(
  args: { name: string } & Partial<WebhookInputs>,
): Promise<{ id: string; outs: WebhookState }> {
  const { id, outs } = await ApiChatWebhook.create(await checked(args));
  return { id, outs: expandState(outs) };
}

export async function update(
  state: WebhookState,
  args: { name: string } & Partial<WebhookInputs>,
): Promise<WebhookState> {
  const { outs } = await ApiChatWebhook.update(state.botUrl, compactState(state), await checked(args));
  return expandState(outs);
}

/** What read gives for a state: empty if the registration is gone. */
export async function read(state: WebhookState): Promise<Partial<ReadResult>> {
  const result = await ApiChatWebhook.read(state.botUrl, compactState(state));
  return result.props === undefined ? {} : { ...result, props: expandState(result.props) };
}

/** What a refresh makes of the state. Throws if the registration is gone. */
export async function refresh(state: WebhookState): Promise<WebhookState> {
  const { props } = await read(state);
  if (props === undefined) throw new Error("gone");
  return props;
}

/** The failure of a lifecycle function, whatever its class. */
export async function errorOf(work: Promise<unknown>): Promise<Error> {
  const outcome: unknown = await work.then(
    (value) => new Error(`it succeeded with ${JSON.stringify(value)}`),
    (error: unknown) => error,
  );
  if (outcome instanceof Error) return outcome;
  throw new Error(`not an error: ${String(outcome)}`);
}
