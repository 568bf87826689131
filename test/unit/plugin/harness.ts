import { promisify } from "node:util";
import { Server, ServerCredentials, type ServiceError } from "@grpc/grpc-js";
import engines from "@pulumi/pulumi/proto/engine_grpc_pb.js";
import type lines from "@pulumi/pulumi/proto/engine_pb.js";
import messages from "@pulumi/pulumi/proto/provider_pb.js";
import empty from "google-protobuf/google/protobuf/empty_pb.js";
import type protobuf from "google-protobuf/google/protobuf/struct_pb.js";
import { afterEach, beforeEach, expect, vi } from "vitest";
import { printLinesWith } from "../../../provider/lib/progress.js";
import { serve } from "../../../provider/plugin/server.js";
import { EngineClient } from "../../../provider/plugin/engine.js";
import { unmark } from "../../support/dynamic.js";
import {
  type Call,
  connectProvider,
  type Marked,
  partOf,
  resourceCalls,
  valuesOf,
} from "../../support/provider-client.js";
import { findSecrets } from "../../support/secrets.js";
import { API_KEY, VERIFICATION_KEY } from "../client/harness.js";
import { type Acme, isolateRuns, startAcme } from "../webhook/harness.js";

export { failureOf, partOf, type Failure, type Marked } from "../../support/provider-client.js";

// Imitates the engine over gRPC: a client calls the plugin, which runs in this process, and a server receives
// the plugin's log lines.

const SIGNATURE = "4dabf18193072939515e22adb298388d";
const SECRET = "1b47061264138c4ac30d75fd1eb44270";

export const secret = (value: unknown): Marked => ({ [SIGNATURE]: SECRET, value });

/** The placeholder for an unknown text. */
export const UNKNOWN = "04da6b54-80e4-46f7-96ec-b56ff0331ba9";

const isSecret = (value: unknown): value is { value: unknown } =>
  typeof value === "object" && value !== null && SIGNATURE in value;

/** Returns the values without their secret marks. */
export const clear = (values: Marked): Marked => unmark(values) as Marked;

/** The paths of marked secrets, such as `workspaces.acme.verificationKeys`. */
export function secretsIn(value: unknown, path = ""): string[] {
  if (isSecret(value)) return [path];
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value)
    .flatMap(([name, one]) => secretsIn(one, path === "" ? name : `${path}.${name}`))
    .toSorted();
}

/** Secrets that no error, log line or unencrypted response may contain. The harness checks this. */
const SECRETS = [API_KEY, VERIFICATION_KEY, "ak-other-0123456789", "foreign-key-0123456789"];

/** Requires that secrets occur only in values that are marked as secrets. */
function requireNoSecret(value: unknown): void {
  const text = JSON.stringify(value, (_, one: unknown) => (isSecret(one) ? "[secret]" : one)) ?? "";
  const traces = findSecrets(text, SECRETS);
  if (traces.length > 0) throw new Error(`a secret is unencrypted: ${traces.join(" ")}`);
}

type Line = Pick<lines.LogRequest.AsObject, "urn" | "severity" | "ephemeral" | "message">;

/** Starts an engine that receives log lines, for one test. */
export async function startEngine(taken: Line[] = []): Promise<{ address: string; lines: Line[] }> {
  const server = new Server();
  server.addService(engines.EngineService, {
    log: ({ request }: { request: lines.LogRequest }, done: (error: null, answer: empty.Empty) => void) => {
      const { urn, severity, ephemeral, message } = request.toObject();
      taken.push({ urn, severity, ephemeral, message });
      done(null, new empty.Empty());
    },
  });
  const bind = promisify(server.bindAsync.bind(server));
  const port = await bind("127.0.0.1:0", ServerCredentials.createInsecure());
  stops.push(() => server.forceShutdown());
  return { address: `127.0.0.1:${port}`, lines: taken };
}

/** The lines that the engine has received. */
const received: Line[] = [];
let engine: EngineClient;
let provider: ReturnType<typeof connectProvider>;
const stops: (() => void)[] = [];

/** Starts a new run: an engine at a different address, and a plugin that has received no call yet. */
export async function startRun(): Promise<void> {
  const { address } = await startEngine(received);
  engine = new EngineClient(address);
  const served = await serve(engine);
  provider = connectProvider(served.port);
  stops.push(provider.close, () => served.stop());
}

/** Isolates each test with its own plugin, engine and run. */
export function isolatePlugins() {
  isolateRuns();
  beforeEach(async () => {
    vi.stubEnv("CI", undefined);
    const previous = printLinesWith((kind, _name, text) => engine.log(kind, text));
    stops.push(() => printLinesWith(previous));
    received.length = 0;
    await startRun();
  });
  afterEach(() => {
    stops.splice(0).forEach((stop) => stop());
    requireNoSecret(received);
  });
  return { call, configure, invoke, cancel, lines: received };
}

/** Calls a method. Throws if the result contains an unencrypted secret. */
const call: Call = async <Answer>(...sent: Parameters<Call>) => {
  const answer = await provider.call<Answer>(...sent).catch((error: ServiceError) => {
    requireNoSecret([error.details, partOf(error)]);
    throw error;
  });
  const { failuresList } = (answer as messages.CheckResponse).toObject();
  const structs = ["getInputs", "getProperties", "getReturn"].map((getter) =>
    (answer as Partial<Record<string, () => protobuf.Struct>>)[getter]?.()?.toJavaScript(),
  );
  requireNoSecret([failuresList, structs]);
  return answer;
};

const configure = async (args: Marked): Promise<void> =>
  void (await call("configure", new messages.ConfigureRequest(), { args }));

async function invoke(args: Marked): Promise<Marked> {
  const fields = { tok: "apichat:index:getApiChatWebhook", args };
  const answer = await call<messages.InvokeResponse>("invoke", new messages.InvokeRequest(), fields);
  return valuesOf(answer.getReturn());
}

const cancel = async (): Promise<void> => void (await call("cancel", new empty.Empty()));

/** The engine's calls for one resource. */
export function resourceOf(type: string, name = "acme", module = "apichat:index") {
  const urn = `urn:pulumi:dev::shop::${module}:${type}::${name}`;
  const calls = resourceCalls(call, urn);
  /** Calls check, which must pass, and returns its inputs. */
  const checked = async (news: Marked, olds: Marked = {}): Promise<Marked> => {
    const { inputs, failures } = await calls.check(news, olds);
    expect(failures).toEqual([]);
    return inputs;
  };
  return { urn, ...calls, checked };
}

/** The engine's calls for the webhook acme. */
export const webhook = resourceOf("ApiChatWebhook");

/** The program's inputs, with secrets marked as an SDK marks them. */
export const programOf = ({ args }: Acme, more: Marked = {}): Marked => {
  const { name: _, apiKey, ...rest } = args;
  const key = secret(VERIFICATION_KEY);
  return { ...rest, webhookVerificationKey: key, apiKey: secret(apiKey), ...more };
};

interface Created extends Acme {
  id: string;
  inputs: Marked;
  outs: Marked;
}

/** Creates a webhook, and starts the next run. */
export async function startCreated(more: Marked = {}): Promise<Created> {
  const started = await startAcme();
  const inputs = await webhook.checked(programOf(started, more));
  const { id, outs } = await webhook.create(inputs);
  started.actions();
  await startRun();
  return { ...started, id, inputs, outs };
}
