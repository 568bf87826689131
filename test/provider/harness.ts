import { spawn, type ChildProcessByStdio } from "node:child_process";
import { once } from "node:events";
import { randomInt } from "node:crypto";
import { createRequire } from "node:module";
import { createInterface } from "node:readline";
import type { Readable, Writable } from "node:stream";
import messages from "@pulumi/pulumi/proto/provider_pb.js";
import { unmark } from "../support/dynamic.ts";
import { compileCache } from "../support/folder.ts";
import { type Call, connectProvider, resourceCalls } from "../support/provider-client.ts";

const dispatcher = createRequire(import.meta.url).resolve("@pulumi/pulumi/cmd/dynamic-provider");

export type Provider = Awaited<ReturnType<typeof startProvider>>;

/** Starts the SDK's dynamic provider as the engine does: in its own process, called over gRPC. */
export async function startProvider(options: { folder?: string; stdin?: "pipe" | "ignore" } = {}) {
  // The engine's address. It is random, because the provider takes each new address for a new run.
  const child = spawn(process.execPath, [dispatcher, `127.0.0.1:${randomInt(2 ** 47)}`], {
    cwd: options.folder ?? process.cwd(),
    env: { PULUMI_NODEJS_PROJECT: "test", PULUMI_NODEJS_STACK: "dev", NODE_COMPILE_CACHE: compileCache },
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
  const { call: send, close } = connectProvider(port);
  // The engine removes secret marks before it calls a dynamic provider.
  const call: Call = (method, request, fields) => send(method, request, unmark(fields) as typeof fields);
  return {
    ...resourceCalls(call),
    configure: (args: Record<string, string> = {}) =>
      call<unknown>("configure", new messages.ConfigureRequest(), { args }),
    printed,
    /** Closes the process's stdin, as happens when the engine ends for any reason. */
    closeStdin: (): void => void child.stdin?.end(),
    ended,
    stop: async (): Promise<void> => {
      close();
      child.kill("SIGKILL");
      await ended;
    },
  };
}
