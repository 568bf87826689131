import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import process from "node:process";
import { fileURLToPath } from "node:url";
import type { RuntimeClient } from "./aws-runtime-client.ts";

/** A deployed function: one instance of it, in a process of its own. */
export interface LambdaFunction {
  /** Gives the handler's result. Rejects with {@link InvocationError} for the handler's error. */
  invoke<Result>(event: unknown): Promise<Result>;
  /** What it has logged. */
  output(): string;
  stop(): Promise<void>;
}

export interface FunctionOptions {
  client: RuntimeClient;
  /** The text of `index.cjs`, which exports `handler`. */
  code: string;
  environment: Record<string, string>;
}

/** What Lambda tells the caller of a function that has thrown. */
class InvocationError extends Error {
  readonly errorType: string;

  constructor(errorType: string, errorMessage: string) {
    super(errorMessage);
    this.errorType = errorType;
  }
}

interface Invocation {
  event: unknown;
  resolve(result: unknown): void;
  reject(error: Error): void;
}

const API = "/2018-06-01/runtime";
const repository = fileURLToPath(new URL("../..", import.meta.url));

/** Starts a function: a Runtime API, and the client with the code. Its modules are those of Lambda's runtime, no others. */
export async function startFunction(options: FunctionOptions): Promise<LambdaFunction> {
  const folder = await mkdtemp(join(tmpdir(), "pulumi-apichat-lambda-"));
  await writeFile(join(folder, "index.cjs"), options.code);
  await mkdir(join(folder, "runtime"));
  await symlink(join(repository, "node_modules", "@aws-sdk"), join(folder, "runtime", "@aws-sdk"));

  const api = await startRuntimeApi();
  const child = spawn(process.execPath, [options.client.script], {
    cwd: folder,
    env: describeEnvironment(options, { folder, address: api.address }),
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => (output += String(chunk)));
  child.once("exit", (code) => api.fail(new Error(`the function has ended with ${code}:\n${output}`)));

  return {
    invoke: <Result>(event: unknown) => api.invoke(event) as Promise<Result>,
    output: () => output,
    stop: async () => {
      await endProcess(child);
      await api.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

function describeEnvironment(
  { environment }: FunctionOptions,
  { folder, address }: { folder: string; address: string },
): NodeJS.ProcessEnv {
  return {
    PATH: process.env.PATH,
    AWS_LAMBDA_RUNTIME_API: address,
    LAMBDA_TASK_ROOT: folder,
    NODE_PATH: join(folder, "runtime"),
    _HANDLER: "index.handler",
    AWS_EXECUTION_ENV: "AWS_Lambda_nodejs24.x",
    AWS_LAMBDA_FUNCTION_NAME: "tested",
    AWS_LAMBDA_FUNCTION_VERSION: "$LATEST",
    AWS_LAMBDA_FUNCTION_MEMORY_SIZE: "256",
    AWS_LAMBDA_LOG_GROUP_NAME: "tested",
    AWS_LAMBDA_LOG_STREAM_NAME: "tested",
    AWS_REGION: "us-east-2",
    AWS_ACCESS_KEY_ID: "tested",
    AWS_SECRET_ACCESS_KEY: "tested",
    ...environment,
  };
}

interface RuntimeApi {
  address: string;
  invoke(event: unknown): Promise<unknown>;
  /** Ends what is under way, and all that comes. */
  fail(error: Error): void;
  close(): Promise<void>;
}

/** The part of Lambda's Runtime API that a client uses: the next event, its response, its error, an error before any. */
async function startRuntimeApi(): Promise<RuntimeApi> {
  const waiting: Invocation[] = [];
  const open = new Map<string, Invocation>();
  let isAskedForNext: (() => void) | undefined;
  let failure: Error | undefined;
  let count = 0;

  const fail = (error: Error): void => {
    failure ??= error;
    for (const invocation of [...waiting.splice(0), ...open.values()]) invocation.reject(failure);
    open.clear();
  };
  const giveNext = (response: ServerResponse): void => {
    const invocation = waiting.shift();
    if (invocation === undefined) {
      isAskedForNext = () => giveNext(response);
      return;
    }
    const id = `00000000-0000-4000-8000-${String(++count).padStart(12, "0")}`;
    open.set(id, invocation);
    response.setHeader("content-type", "application/json");
    response.setHeader("lambda-runtime-aws-request-id", id);
    response.setHeader("lambda-runtime-deadline-ms", String(Date.now() + 15_000));
    response.setHeader("lambda-runtime-invoked-function-arn", "arn:aws:lambda:us-east-2:1:function:tested");
    response.end(JSON.stringify(invocation.event));
  };
  const takeOutcome = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = await text(request);
    const [, id = "", what] = /invocation\/(.+)\/(response|error)$/.exec(request.url ?? "") ?? [];
    if (what === "response") open.get(id)?.resolve(JSON.parse(body));
    else if (what === "error") open.get(id)?.reject(toInvocationError(body));
    else fail(toInvocationError(body));
    open.delete(id);
    response.writeHead(202).end();
  };
  const server = createServer((request, response) => {
    if (request.url === `${API}/invocation/next`) giveNext(response);
    else void takeOutcome(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));

  return {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    invoke: (event) =>
      new Promise((resolve, reject) => {
        if (failure) return reject(failure);
        waiting.push({ event, resolve, reject });
        isAskedForNext?.();
        isAskedForNext = undefined;
      }),
    fail,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function toInvocationError(body: string): InvocationError {
  const { errorType, errorMessage } = JSON.parse(body) as { errorType: string; errorMessage: string };
  return new InvocationError(errorType, errorMessage);
}

async function endProcess(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, "exit");
  child.kill("SIGKILL");
  await ended;
}
