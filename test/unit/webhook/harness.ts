import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, vi } from "vitest";
import { startEmulator, type EmulatorOptions } from "../../../provider/emulator/index.js";
import { createWebhookProvider } from "../../../provider/dynamic.js";
import { memoryLog } from "../../../provider/webhook/run-log.js";
import { Run } from "../../../provider/webhook/run.js";
import { UnfinishedError, type WebhookInputs, type WebhookState } from "../../../provider/webhook/state.js";
import { afterTests, startServer } from "../../support/http.js";
import { unmarked } from "../../support/dynamic.js";
import { expectRecordsMatchOpenApi } from "../../support/openapi.js";
import { API_KEY, VERIFICATION_KEY } from "../client/harness.js";
import { answerHandshake } from "../diagnosis/harness.js";

export { API_KEY, VERIFICATION_KEY, failureOf } from "../client/harness.js";

let run: Run;
let resource: ReturnType<typeof createWebhookProvider>;
/** The run in progress, with its facts. */
export const currentRun = (): Run => run;
/** The lifecycle of the resource in that run. */
export const lifecycle = (): typeof resource => resource;

export const OTHER_KEY = "ak-other-0123456789";
/** Somebody else's webhook. */
export const FOREIGN = {
  webhook_url: "http://127.0.0.1:9/foreign",
  webhook_verification_key: "foreign-key-0123456789",
};
/** The calls that only read the registration, and those that set it. */
export const GET = ["get-webhook"];
export const SET = ["get-webhook", "set-webhook", "get-webhook"];

/** The first get-webhook decides what to do; the second confirms or recovers the result. */
export const secondLookFails = {
  operation: "get-webhook",
  every: 2,
  times: 1,
  fault: { status: 422 },
} as const;
export const rejectHandshake = { operation: "handshake", fault: { status: 500 } } as const;

/** Starts a new run for each test, without configuration and environment. Returns its printed lines. */
export function isolateRuns(): string[] {
  const lines: string[] = [];
  let stateHome = "";
  beforeEach(() => {
    vi.spyOn(console, "log").mockImplementation((line: string) => void lines.push(line));
    vi.stubEnv("APICHAT_API_KEY", undefined);
    vi.stubEnv("APICHAT_BASE_URL", undefined);
    // An engine may get an earlier engine's address: a new folder has none of that engine's facts.
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

/** Starts a new run of the engine: a new provider process with this configuration. */
export function startRun(config: Record<string, string> = {}, log = memoryLog()): void {
  run = new Run(log);
  resource = unmarked(createWebhookProvider(run));
  resource.configure({ config: { get: (key) => config[key] } });
}

/** Starts an endpoint that responds to every handshake as the responder with this key does. */
export async function startEndpoint(key = VERIFICATION_KEY, path = "/hook") {
  const { url, requests } = await startServer(answerHandshake(key));
  return { url: url + path, requests };
}

type Args = { name: string } & Partial<WebhookInputs>;

export type Acme = Awaited<ReturnType<typeof startAcme>>;

/** Starts an emulator with the workspaces `acme` and `other`, and starts acme's endpoint. */
export async function startAcme(options: EmulatorOptions = {}) {
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
    /** The program's arguments for acme. */
    args: {
      name: "acme",
      baseUrl: acme.baseUrl,
      apiKey: API_KEY,
      webhookUrl: endpoint.url,
      webhookVerificationKey: VERIFICATION_KEY,
      timeouts: { requestSeconds: 3, readySeconds: 3 },
    },
    /** Returns the actions that were called since this was last called, in order. */
    actions: (): (string | null)[] => {
      const actions = emulator.requests.slice(asked).map(({ operation }) => operation);
      asked = emulator.requests.length;
      return actions;
    },
  };
}

/** Creates a webhook, and starts the next run, in which the program has declared nothing yet. */
export async function startCreated(options: EmulatorOptions = {}): Promise<Acme & { state: WebhookState }> {
  const started = await startAcme(options);
  const state = await create(started.args);
  started.actions();
  startRun();
  return { ...started, state };
}

/** Returns the inputs as check returns them. Throws if check rejects them. */
export async function checked(args: Args): Promise<WebhookInputs> {
  const { inputs, failures } = await resource.check({}, args);
  if (failures.length > 0) throw new Error(JSON.stringify(failures));
  return inputs;
}

/** Creates the webhook and returns its state. */
export async function create(args: Args): Promise<WebhookState> {
  const { id, outs } = await resource.create(await checked(args));
  if (id !== outs.botUrl) throw new Error(`the id is ${id}`);
  return outs;
}

/** Whether the next `up` would make changes. */
export async function hasChanges(state: WebhookState, args: Args): Promise<boolean> {
  return (await resource.diff(state.botUrl, state, await checked(args))).changes;
}

/** Updates the webhook and returns its state. */
export async function update(state: WebhookState, args: Args): Promise<WebhookState> {
  const { outs } = await resource.update(state.botUrl, state, await checked(args));
  return outs;
}

/** Reads the webhook of a state. Returns undefined if the registration is gone. */
export async function read(state: WebhookState) {
  const { id, props, inputs } = await resource.read(state.botUrl, state);
  return id && props && inputs ? { id, props, inputs } : undefined;
}

/** Returns the state after a refresh. Throws if the registration is gone. */
export async function refresh(state: WebhookState): Promise<WebhookState> {
  const seen = await read(state);
  if (seen === undefined) throw new Error("gone");
  return seen.props;
}

export const remove = (state: WebhookState): Promise<void> => resource.delete(state.botUrl, state);

/** Returns the state that a partial create or update leaves, and the reasons why it is partial. */
export async function unfinishedBy(work: Promise<unknown>) {
  const error: unknown = await work.catch((failure: unknown) => failure);
  if (!(error instanceof UnfinishedError)) throw new Error("the work is not partly done", { cause: error });
  return { id: error.id, state: error.properties, reasons: error.reasons };
}
