import { promisify } from "node:util";
import { credentials, Server, ServerCredentials, type ServiceError } from "@grpc/grpc-js";
import engines from "@pulumi/pulumi/proto/engine_grpc_pb.js";
import type lines from "@pulumi/pulumi/proto/engine_pb.js";
import services from "@pulumi/pulumi/proto/provider_grpc_pb.js";
import messages from "@pulumi/pulumi/proto/provider_pb.js";
import empty from "google-protobuf/google/protobuf/empty_pb.js";
import protobuf from "google-protobuf/google/protobuf/struct_pb.js";
import { afterEach, beforeEach, vi } from "vitest";
import { printLinesWith } from "../../../provider/lib/progress.js";
import { serve } from "../../../provider/plugin/server.js";
import { EngineClient } from "../../../provider/plugin/engine.js";
import { unmark } from "../../support/dynamic.js";
import { partOf } from "../../support/provider-failure.js";
import { findSecrets } from "../../support/secrets.js";
import { API_KEY, VERIFICATION_KEY } from "../client/harness.js";
import { isolateRuns } from "../webhook/harness.js";

export { failureOf, partOf } from "../../support/provider-failure.js";

// The engine's side: a client that calls a plugin in this process over gRPC, and a server that receives
// its log lines.

export type Values = Record<string, unknown>;

/** Properties in their wire format, with the marks of secrets and of unknown values. */
export type Marked = Values;

const SIGNATURE = "4dabf18193072939515e22adb298388d";
const SECRET = "1b47061264138c4ac30d75fd1eb44270";

export const secret = (value: unknown): Values => ({ [SIGNATURE]: SECRET, value });

/** The placeholders of unknown values: text, boolean, number, list, asset, archive, object. */
export const UNKNOWNS = [
  "04da6b54-80e4-46f7-96ec-b56ff0331ba9",
  "1c4a061d-8072-4f0a-a4cb-0ff528b18fe7",
  "3eeb2bf0-c639-47a8-9e75-3b44932eb421",
  "6a19a0b0-7e62-4c92-b797-7f8e31da9cc2",
  "030794c1-ac77-496b-92df-f27374a8bd58",
  "e48ece36-62e2-4504-bad9-02848725956a",
  "dd056dcd-154b-4c76-9bd3-c8f88648b5ff",
] as const;
export const [UNKNOWN] = UNKNOWNS;

const isSecret = (value: unknown): value is { value: unknown } =>
  typeof value === "object" && value !== null && SIGNATURE in value;

/** The values without marks. */
export const clear = (values: Marked): Values => unmark(values) as Values;

/** The paths of marked secrets, such as `workspaces.acme.verificationKeys`. */
export function secretsIn(value: unknown, path = ""): string[] {
  if (isSecret(value)) return [path];
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value)
    .flatMap(([name, one]) => secretsIn(one, path === "" ? name : `${path}.${name}`))
    .toSorted();
}

/** The values that are not marked as secret. */
function shownIn(value: unknown): unknown {
  if (isSecret(value)) return "[secret]";
  if (Array.isArray(value)) return value.map((item: unknown) => shownIn(item));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, shownIn(one)]));
}

/**
 * Secrets that must never be in an error, a line, or unencrypted in a response: the harness searches all of
 * them.
 */
const SECRETS = [API_KEY, VERIFICATION_KEY, "ak-other-0123456789", "foreign-key-0123456789"];

function requireNoSecret(text: string): void {
  const traces = findSecrets(text, SECRETS);
  if (traces.length > 0) throw new Error(`a secret is unencrypted: ${traces.join(" ")}`);
}

export interface Line {
  urn: string;
  severity: number;
  ephemeral: boolean;
  message: string;
}

/** An engine that receives lines. */
export async function startEngine(
  taken: Line[] = [],
): Promise<{ address: string; lines: Line[]; stop: () => void }> {
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
  return { address: `127.0.0.1:${port}`, lines: taken, stop: () => server.forceShutdown() };
}

type Client = InstanceType<typeof services.ResourceProviderClient>;

export interface Plugin {
  client: Client;
  /** Calls a method, and searches its result for secrets. */
  call<Answer>(method: keyof Client, request: object): Promise<Answer>;
  configure(config: Marked, name?: string): Promise<void>;
  invoke(args: Marked, token?: string): Promise<Marked>;
  cancel(): Promise<void>;
  /** The lines that the engine has received. */
  lines: Line[];
}

const plugin = {} as Plugin;
let engine: EngineClient;
const stops: (() => void)[] = [];

/** Starts a new run: an engine at a different address, and a plugin that knows nothing yet. */
export async function startRun(): Promise<void> {
  const { address, stop } = await startEngine(plugin.lines);
  engine = new EngineClient(address);
  const served = await serve(engine);
  const client = new services.ResourceProviderClient(
    `127.0.0.1:${served.port}`,
    credentials.createInsecure(),
    {
      "grpc.max_receive_message_length": -1,
    },
  );
  stops.push(
    stop,
    () => client.close(),
    () => served.stop(),
  );
  Object.assign(plugin, { client });
}

/** Isolates each test with its own plugin, engine and run. */
export function isolatePlugins(): Plugin {
  isolateRuns();
  beforeEach(async () => {
    vi.stubEnv("CI", undefined);
    const previous = printLinesWith((kind, _name, text) => engine.log(kind, text));
    stops.push(() => printLinesWith(previous));
    Object.assign(plugin, { lines: [] });
    await startRun();
  });
  afterEach(() => {
    stops.splice(0).forEach((stop) => stop());
    requireNoSecret(JSON.stringify(plugin.lines));
  });
  return Object.assign(plugin, { call, configure, invoke, cancel });
}

async function call<Answer>(method: keyof Client, request: object): Promise<Answer> {
  const send = promisify<object, Answer>(plugin.client[method].bind(plugin.client) as never);
  const answer = await send(request).catch((error: ServiceError) => {
    requireNoSecret(error.details + JSON.stringify(shownIn(partOf(error)?.properties)));
    throw error;
  });
  requireNoSecret(JSON.stringify(shownIn(structsIn(answer))));
  return answer;
}

/** Every struct of a response, and its strings. */
function structsIn(answer: unknown): unknown[] {
  const getters = ["getInputs", "getProperties", "getReturn"] as const;
  const message = answer as Record<
    (typeof getters)[number],
    (() => protobuf.Struct | undefined) | undefined
  > & {
    getFailuresList?: () => messages.CheckFailure[];
  };
  return [
    ...getters.map((getter) => message[getter]?.()?.toJavaScript()),
    ...(message.getFailuresList?.().map((failure) => failure.toObject()) ?? []),
  ];
}

export const struct = (values: Marked): protobuf.Struct => protobuf.Struct.fromJavaScript(values as never);

const valuesOf = (given: protobuf.Struct | undefined): Marked => given?.toJavaScript() ?? {};

async function configure(config: Marked, name = "default"): Promise<void> {
  const urn = `urn:pulumi:dev::shop::pulumi:providers:apichat::${name}`;
  const request = new messages.ConfigureRequest().setArgs(struct(config)).setName(name).setUrn(urn);
  await call("configure", request);
}

async function invoke(args: Marked, token = "getApiChatWebhook"): Promise<Marked> {
  const request = new messages.InvokeRequest().setTok(`apichat:index:${token}`).setArgs(struct(args));
  return valuesOf((await call<messages.InvokeResponse>("invoke", request)).getReturn());
}

const cancel = async (): Promise<void> => void (await call("cancel", new empty.Empty()));

export interface Failure {
  property: string;
  reason: string;
}

export interface Options {
  preview?: boolean;
  /** Seconds of `customTimeouts`. */
  timeout?: number;
}

const { DIFF_SOME } = messages.DiffResponse.DiffChanges;
const KINDS = Object.entries(messages.PropertyDiff.Kind).map(([name, kind]) => [kind, name] as const);
const kindNames = new Map<unknown, string>(KINDS);

/** The calls of the engine for one resource. */
export function resourceOf(type: string, name = "acme", module = "apichat:index") {
  const urn = `urn:pulumi:dev::shop::${module}:${type}::${name}`;
  return {
    urn,
    check: async (news: Marked, olds: Marked = {}) => {
      const request = new messages.CheckRequest().setUrn(urn).setOlds(struct(olds)).setNews(struct(news));
      const answer = await call<messages.CheckResponse>("check", request);
      const failures: Failure[] = answer.toObject().failuresList;
      return { inputs: valuesOf(answer.getInputs()), failures };
    },
    diff: async (
      id: string,
      olds: Marked,
      news: Marked,
      { oldInputs = olds, ignore = [] }: { oldInputs?: Marked; ignore?: string[] } = {},
    ) => {
      const request = new messages.DiffRequest()
        .setUrn(urn)
        .setId(id)
        .setOlds(struct(olds))
        .setNews(struct(news));
      request.setOldInputs(struct(oldInputs)).setIgnorechangesList(ignore);
      const answer = await call<messages.DiffResponse>("diff", request);
      /** The kinds of changes by the names of inputs. */
      const detailed: Record<string, string> = {};
      answer
        .getDetaileddiffMap()
        .forEach((kind, one) => (detailed[one] = kindNames.get(kind.getKind()) ?? ""));
      return {
        changes: answer.getChanges() === DIFF_SOME,
        diffs: answer.getDiffsList(),
        replaces: answer.getReplacesList(),
        detailed,
      };
    },
    create: async (inputs: Marked, { preview = false, timeout = 0 }: Options = {}) => {
      const request = new messages.CreateRequest().setUrn(urn).setProperties(struct(inputs));
      const answer = await call<messages.CreateResponse>(
        "create",
        request.setPreview(preview).setTimeout(timeout),
      );
      return { id: answer.getId(), outs: valuesOf(answer.getProperties()) };
    },
    update: async (
      id: string,
      olds: Marked,
      news: Marked,
      { preview = false, timeout = 0 }: Options = {},
    ) => {
      const request = new messages.UpdateRequest()
        .setUrn(urn)
        .setId(id)
        .setOlds(struct(olds))
        .setNews(struct(news));
      request.setPreview(preview).setTimeout(timeout);
      return valuesOf((await call<messages.UpdateResponse>("update", request)).getProperties());
    },
    /** Undefined if it is gone. */
    read: async (id: string, outs?: Marked, inputs?: Marked) => {
      const request = new messages.ReadRequest().setUrn(urn).setId(id);
      if (outs) request.setProperties(struct(outs));
      if (inputs) request.setInputs(struct(inputs));
      const answer = await call<messages.ReadResponse>("read", request);
      if (answer.getId() === "") return undefined;
      const [props, read] = [answer.getProperties(), answer.getInputs()];
      return { id: answer.getId(), outs: valuesOf(props), inputs: valuesOf(read) };
    },
    delete: async (id: string, outs: Marked): Promise<void> => {
      const request = new messages.DeleteRequest().setUrn(urn).setId(id).setProperties(struct(outs));
      await call("delete", request);
    },
  };
}
