import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, vi } from "vitest";
import {
  startEmulator,
  type Emulator,
  type EmulatorOptions,
  type Workspace,
} from "../../../provider/emulator/index.js";
import { createWebhookProvider } from "../../../provider/dynamic.js";
import { memoryLog } from "../../../provider/webhook/run-log.js";
import { Run } from "../../../provider/webhook/run.js";
import { UnfinishedError, type WebhookInputs, type WebhookState } from "../../../provider/webhook/state.js";
import { afterTests, startServer, type Received } from "../../support/http.js";
import { unmarked } from "../../support/dynamic.js";
import { expectRecordsMatchOpenApi } from "../../support/openapi.js";
import { API_KEY, VERIFICATION_KEY } from "../client/harness.js";
import { answerHandshake } from "../diagnosis/harness.js";

export { API_KEY, VERIFICATION_KEY, failureOf } from "../client/harness.js";

/** What the provider knows, and its lifecycle: of the run in progress. */
export let run: Run;
export let ApiChatWebhook: ReturnType<typeof createWebhookProvider>;

export const OTHER_KEY = "ak-other-0123456789";
/** Somebody else's webhook. */
export const FOREIGN = {
  webhook_url: "http://127.0.0.1:9/foreign",
  webhook_verification_key: "foreign-key-0123456789",
};
/** The calls that look, and those that set. */
export const GET = ["get-webhook"];
export const SET = ["get-webhook", "set-webhook", "get-webhook"];

/** The first look finds what to do, the second is to confirm or to recover what was done. */
export const secondLookFails = {
  operation: "get-webhook",
  every: 2,
  times: 1,
  fault: { status: 422 },
} as const;
export const rejectHandshake = { operation: "handshake", fault: { status: 500 } } as const;

/** Each test is a run of its own: nothing declared, no configuration, no environment. Gives the lines it printed. */
export function isolateRuns(): string[] {
  const lines: string[] = [];
  let stateHome = "";
  beforeEach(() => {
    vi.spyOn(console, "log").mockImplementation((line: string) => void lines.push(line));
    vi.stubEnv("APICHAT_API_KEY", undefined);
    vi.stubEnv("APICHAT_BASE_URL", undefined);
    // The address of a test's engine may be that of an earlier one, whose facts are still in force.
    vi.stubEnv("XDG_STATE_HOME", (stateHome = mkdtempSync(join(tmpdir(), "apichat-state-"))));
    startRun();
  });
  afterEach(() => {
    rmSync(stateHome, { recursive: true });
    lines.length = 0;
    vi.restoreAllMocks();
    vi.unstubAllEnvs();
  });
  return lines;
}

/** A new run of the engine: a new provider process with this configuration. */
export function startRun(config: Record<string, string> = {}, log = memoryLog()): void {
  run = new Run(log);
  ApiChatWebhook = unmarked(createWebhookProvider(run));
  ApiChatWebhook.configure({ config: { get: (key) => config[key] } });
}

export interface Endpoint {
  url: string;
  requests: Received[];
}

/** A webhook URL that answers every handshake with this token, as the responder does. */
export async function startEndpoint(key = VERIFICATION_KEY, path = "/hook"): Promise<Endpoint> {
  const { url, requests } = await startServer(answerHandshake(key));
  return { url: url + path, requests };
}

type Args = { name: string } & Partial<WebhookInputs>;

export interface Acme {
  emulator: Emulator;
  acme: Workspace;
  /** What the program says of acme. */
  args: { baseUrl: string; apiKey: string; webhookUrl: string } & Args;
  endpoint: Endpoint;
  /** The actions that were called since it was last asked, in their order. */
  actions: () => (string | undefined)[];
}

/** An emulator with the workspaces acme and other, and acme's endpoint. */
export async function startAcme(options: EmulatorOptions = {}): Promise<Acme> {
  const workspaces = [
    { name: "acme", apiKey: API_KEY },
    { name: "other", apiKey: OTHER_KEY },
  ];
  const emulator = await startEmulator({ workspaces, ...options });
  afterTests(async () => {
    await emulator.close();
    expectRecordsMatchOpenApi(emulator.requests, options);
  });
  const endpoint = await startEndpoint();
  const acme = emulator.workspace("acme");
  let asked = 0;
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
      const actions = emulator.requests.slice(asked).map(({ action }) => action);
      asked = emulator.requests.length;
      return actions;
    },
  };
}

/** A created webhook, at the start of the next run, which knows nothing of the program yet. */
export async function startCreated(options: EmulatorOptions = {}): Promise<Acme & { state: WebhookState }> {
  const started = await startAcme(options);
  const state = await create(started.args);
  started.actions();
  startRun();
  return { ...started, state };
}

/** The inputs as check leaves them; throws if it finds them wrong. */
export async function checked(args: Args): Promise<WebhookInputs> {
  const { inputs, failures } = await ApiChatWebhook.check({}, args);
  if (failures.length > 0) throw new Error(JSON.stringify(failures));
  return inputs;
}

/** The state after a create. */
export async function create(args: Args): Promise<WebhookState> {
  const { id, outs } = await ApiChatWebhook.create(await checked(args));
  if (id !== outs.botUrl) throw new Error(`the id is ${id}`);
  return outs;
}

/** Whether the next `up` has something to do. */
export async function hasChanges(state: WebhookState, args: Args): Promise<boolean> {
  return (await ApiChatWebhook.diff(state.botUrl, state, await checked(args))).changes;
}

/** The state after an update. */
export async function update(state: WebhookState, args: Args): Promise<WebhookState> {
  const { outs } = await ApiChatWebhook.update(state.botUrl, state, await checked(args));
  return outs;
}

/** What read gives for a state; undefined if the registration is gone. */
export async function read(
  state: WebhookState,
): Promise<{ id: string; props: WebhookState; inputs: WebhookInputs } | undefined> {
  const { id, props, inputs } = await ApiChatWebhook.read(state.botUrl, state);
  return id && props && inputs ? { id, props, inputs } : undefined;
}

/** What a refresh makes of the state. Throws if the registration is gone. */
export async function refresh(state: WebhookState): Promise<WebhookState> {
  const seen = await read(state);
  if (seen === undefined) throw new Error("gone");
  return seen.props;
}

export const remove = (state: WebhookState): Promise<void> => ApiChatWebhook.delete(state.botUrl, state);

/** The state of a create or an update that is only partly done, and what it printed. */
export async function unfinishedBy(
  work: Promise<unknown>,
): Promise<{ id: string; state: WebhookState; reasons: string[] }> {
  const error: unknown = await work.catch((failure: unknown) => failure);
  if (!(error instanceof UnfinishedError)) throw new Error("it is not partly done", { cause: error });
  return { id: error.id, state: error.properties, reasons: error.reasons };
}
