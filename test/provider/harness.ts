import { spawn, type ChildProcess } from "node:child_process";
import { randomInt } from "node:crypto";
import { once } from "node:events";
import { createRequire } from "node:module";
import { promisify } from "node:util";
import { credentials, type ServiceError } from "@grpc/grpc-js";
import services from "@pulumi/pulumi/proto/provider_grpc_pb.js";
import messages from "@pulumi/pulumi/proto/provider_pb.js";
import statuses from "@pulumi/pulumi/proto/status_pb.js";
import { unmark } from "../support/dynamic.ts";

type Values = Record<string, unknown>;

const require = createRequire(import.meta.url);
const dispatcher = require.resolve("@pulumi/pulumi/cmd/dynamic-provider");

interface StructValue {
  toJavaScript(): Values;
}

/** The SDK's own copy: messages of another one are not accepted. */
const { Struct } = createRequire(dispatcher)("google-protobuf/google/protobuf/struct_pb.js") as {
  Struct: { fromJavaScript(values: Values): never };
};

/** The SDK's dynamic provider as the engine runs it: a process of its own that speaks gRPC. */
export interface Provider {
  configure: (config?: Record<string, string>) => Promise<void>;
  check: (
    news: Values,
    olds?: Values,
  ) => Promise<{ inputs: Values; failures: { property: string; reason: string }[] }>;
  diff: (id: string, olds: Values, news: Values) => Promise<{ changes: boolean; replaces: string[] }>;
  create: (inputs: Values) => Promise<{ id: string; outs: Values }>;
  read: (id: string, props: Values) => Promise<{ id: string; props: Values; inputs: Values | undefined }>;
  update: (id: string, olds: Values, news: Values) => Promise<Values>;
  delete: (id: string, props: Values) => Promise<void>;
  /** Everything that the process printed. */
  printed: () => { stdout: string; stderr: string };
  /** Closes its stdin, as the end of an engine does, however it ends. */
  closeStdin: () => void;
  /** Resolves when the process has ended. */
  ended: Promise<unknown>;
  stop: () => Promise<void>;
}

export interface ProviderOptions {
  folder?: string;
  environment?: Record<string, string>;
  stdin?: "pipe" | "ignore";
  /** What the engine that starts it puts on its command line. Default: an address of its own, so a run of its own. */
  words?: readonly string[];
}

export async function startProvider(options: ProviderOptions = {}): Promise<Provider> {
  const { words = [`127.0.0.1:${randomInt(2 ** 47)}`] } = options;
  const child = spawn(process.execPath, [dispatcher, ...words], {
    cwd: options.folder ?? process.cwd(),
    env: { PULUMI_NODEJS_PROJECT: "test", PULUMI_NODEJS_STACK: "dev", ...options.environment },
    stdio: [options.stdin ?? "pipe", "pipe", "pipe"],
  });
  const ended = once(child, "exit");
  const printed = collectOutput(child);
  const port = await readPort(child, printed);
  const client = new services.ResourceProviderClient(`127.0.0.1:${port}`, credentials.createInsecure());

  const configure = promisify<messages.ConfigureRequest, unknown>(client.configure.bind(client));
  const check = promisify<messages.CheckRequest, messages.CheckResponse>(client.check.bind(client));
  const diff = promisify<messages.DiffRequest, messages.DiffResponse>(client.diff.bind(client));
  const create = promisify<messages.CreateRequest, messages.CreateResponse>(client.create.bind(client));
  const read = promisify<messages.ReadRequest, messages.ReadResponse>(client.read.bind(client));
  const update = promisify<messages.UpdateRequest, messages.UpdateResponse>(client.update.bind(client));
  const remove = promisify<messages.DeleteRequest, unknown>(client.delete.bind(client));

  return {
    configure: async (config = {}) => {
      await configure(fill(new messages.ConfigureRequest(), { args: config }));
    },
    check: async (news, olds = {}) => {
      const answer = await check(fill(new messages.CheckRequest(), { olds, news }));
      return { inputs: valuesOf(answer.getInputs()), failures: answer.toObject().failuresList };
    },
    diff: async (id, olds, news) => {
      const answer = await diff(fill(new messages.DiffRequest(), { id, olds, news }));
      const { DIFF_SOME } = messages.DiffResponse.DiffChanges;
      return { changes: answer.getChanges() === DIFF_SOME, replaces: answer.getReplacesList() };
    },
    create: async (properties) => {
      const answer = await create(fill(new messages.CreateRequest(), { properties }));
      return { id: answer.getId(), outs: valuesOf(answer.getProperties()) };
    },
    read: async (id, properties) => {
      const answer = await read(fill(new messages.ReadRequest(), { id, properties }));
      const inputs = answer.getInputs();
      return {
        id: answer.getId(),
        props: valuesOf(answer.getProperties()),
        inputs: inputs && valuesOf(inputs),
      };
    },
    update: async (id, olds, news) =>
      valuesOf((await update(fill(new messages.UpdateRequest(), { id, olds, news }))).getProperties()),
    delete: async (id, properties) => {
      await remove(fill(new messages.DeleteRequest(), { id, properties }));
    },
    printed: () => ({ ...printed }),
    closeStdin: () => void child.stdin?.end(),
    ended,
    stop: async () => {
      client.close();
      child.kill("SIGKILL");
      await ended;
    },
  };
}

/** Calls the setter of each field; objects go as protobuf structs. */
function fill<T extends object>(request: T, fields: Record<string, string | Values>): T {
  for (const [field, value] of Object.entries(fields)) {
    const setter = `set${field.charAt(0).toUpperCase()}${field.slice(1)}` as keyof T;
    const set = request[setter] as (value: unknown) => void;
    set.call(request, typeof value === "string" ? value : Struct.fromJavaScript(value));
  }
  return request;
}

/** Without the marks of secrets. */
const valuesOf = (struct: StructValue | undefined): Values => unmark(struct?.toJavaScript() ?? {}) as Values;

function collectOutput(child: ChildProcess): { stdout: string; stderr: string } {
  const printed = { stdout: "", stderr: "" };
  for (const stream of ["stdout", "stderr"] as const) {
    child[stream]?.setEncoding("utf8").on("data", (text: string) => (printed[stream] += text));
  }
  return printed;
}

async function readPort(child: ChildProcess, printed: { stdout: string; stderr: string }): Promise<string> {
  while (!printed.stdout.includes("\n")) {
    const [event] = await Promise.race([
      once(child.stdout ?? child, "data").then(() => ["data"]),
      once(child, "exit").then(() => ["exit"]),
    ]);
    if (event === "exit") throw new Error(`the provider process ended: ${printed.stderr}`);
  }
  return printed.stdout.split("\n")[0] ?? "";
}

/** The gRPC error of a call that must fail. */
export async function failureOf(call: Promise<unknown>): Promise<ServiceError> {
  const outcome: unknown = await call.then(
    (value) => new Error(`it succeeded with ${JSON.stringify(value)}`),
    (error: unknown) => error,
  );
  if (outcome instanceof Error && "metadata" in outcome) return outcome as ServiceError;
  throw outcome;
}

/** What a failed create or update left behind, which the engine keeps. */
export function partOf(
  error: ServiceError,
): { id: string; properties: Values; reasons: string[] } | undefined {
  const [details] = error.metadata.get("grpc-status-details-bin");
  if (details === undefined || typeof details === "string") return undefined;
  const [any] = statuses.Status.deserializeBinary(details).getDetailsList();
  const part = messages.ErrorResourceInitFailed.deserializeBinary(any?.getValue_asU8() ?? new Uint8Array());
  return {
    id: part.getId(),
    properties: valuesOf(part.getProperties()),
    reasons: part.getReasonsList(),
  };
}
