import { spawn, type ChildProcessByStdio } from "node:child_process";
import { once } from "node:events";
import { randomInt } from "node:crypto";
import { createRequire } from "node:module";
import { createInterface } from "node:readline";
import type { Readable, Writable } from "node:stream";
import { promisify } from "node:util";
import { credentials } from "@grpc/grpc-js";
import services from "@pulumi/pulumi/proto/provider_grpc_pb.js";
import messages from "@pulumi/pulumi/proto/provider_pb.js";
import { unmark } from "../support/dynamic.ts";

type Values = Record<string, unknown>;

const require = createRequire(import.meta.url);
const dispatcher = require.resolve("@pulumi/pulumi/cmd/dynamic-provider");

interface StructValue {
  toJavaScript(): Values;
}

/** The SDK's own copy of protobuf: it rejects messages of any other. */
const { Struct } = createRequire(dispatcher)("google-protobuf/google/protobuf/struct_pb.js") as {
  Struct: { fromJavaScript(values: Values): never };
};

export type Provider = Awaited<ReturnType<typeof startProvider>>;

/** The SDK's dynamic provider as the engine runs it: in its own process, over gRPC. */
export async function startProvider(options: { folder?: string; stdin?: "pipe" | "ignore" } = {}) {
  // A different engine address, so it is a different run.
  const child = spawn(process.execPath, [dispatcher, `127.0.0.1:${randomInt(2 ** 47)}`], {
    cwd: options.folder ?? process.cwd(),
    env: { PULUMI_NODEJS_PROJECT: "test", PULUMI_NODEJS_STACK: "dev" },
    stdio: [options.stdin ?? "pipe", "pipe", "pipe"],
  }) as ChildProcessByStdio<Writable | null, Readable, Readable>;
  const ended = once(child, "exit");
  const printed = { stdout: "", stderr: "" };
  for (const stream of ["stdout", "stderr"] as const)
    child[stream].setEncoding("utf8").on("data", (text: string) => (printed[stream] += text));
  const [port] = (await Promise.race([
    once(createInterface(child.stdout), "line"),
    ended.then(() => Promise.reject(new Error(`the provider process ended: ${printed.stderr}`))),
  ])) as [string];
  const client = new services.ResourceProviderClient(`127.0.0.1:${port}`, credentials.createInsecure());

  const call = <Answer>(
    method: "configure" | "check" | "diff" | "create" | "read" | "update" | "delete",
    request: object,
    fields: Record<string, string | Values>,
  ): Promise<Answer> =>
    promisify<object, Answer>(client[method].bind(client) as never)(fill(request, fields));

  return {
    configure: async (config: Record<string, string> = {}): Promise<void> => {
      await call("configure", new messages.ConfigureRequest(), { args: config });
    },
    check: async (news: Values) => {
      const fields = { olds: {}, news };
      const answer = await call<messages.CheckResponse>("check", new messages.CheckRequest(), fields);
      return { inputs: valuesOf(answer.getInputs()), failures: answer.toObject().failuresList };
    },
    /** Returns whether there are changes. */
    diff: async (id: string, olds: Values, news: Values): Promise<boolean> => {
      const request = new messages.DiffRequest();
      const answer = await call<messages.DiffResponse>("diff", request, { id, olds, news });
      return answer.getChanges() === messages.DiffResponse.DiffChanges.DIFF_SOME;
    },
    create: async (properties: Values) => {
      const request = new messages.CreateRequest();
      const answer = await call<messages.CreateResponse>("create", request, { properties });
      return { id: answer.getId(), outs: valuesOf(answer.getProperties()) };
    },
    /** Returns the state after a refresh. */
    read: async (id: string, properties: Values): Promise<Values> => {
      const request = new messages.ReadRequest();
      const answer = await call<messages.ReadResponse>("read", request, { id, properties });
      return valuesOf(answer.getProperties());
    },
    update: async (id: string, olds: Values, news: Values): Promise<Values> => {
      const request = new messages.UpdateRequest();
      const answer = await call<messages.UpdateResponse>("update", request, { id, olds, news });
      return valuesOf(answer.getProperties());
    },
    delete: async (id: string, properties: Values): Promise<void> => {
      await call("delete", new messages.DeleteRequest(), { id, properties });
    },
    printed,
    /** Closes its stdin, as every end of an engine does. */
    closeStdin: (): void => void child.stdin?.end(),
    ended,
    stop: async (): Promise<void> => {
      client.close();
      child.kill("SIGKILL");
      await ended;
    },
  };
}

/** Calls the setter of each field; objects become protobuf structs. */
function fill(request: object, fields: Record<string, string | Values>): object {
  for (const [field, value] of Object.entries(fields)) {
    const setter = `set${field.charAt(0).toUpperCase()}${field.slice(1)}`;
    const set = (request as Record<string, (value: unknown) => void>)[setter];
    set?.call(request, typeof value === "string" ? value : Struct.fromJavaScript(value));
  }
  return request;
}

/** Removes the marks of secrets. */
const valuesOf = (struct: StructValue | undefined): Values => unmark(struct?.toJavaScript() ?? {}) as Values;
