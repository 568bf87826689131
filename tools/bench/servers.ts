/** The servers that the benchmarks measure, each in its own process, which `startServer` starts with this file. */
import { execaNode } from "execa";
import { createHmac, timingSafeEqual } from "node:crypto";
import { createServer, type RequestListener } from "node:http";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { startEmulator } from "pulumi-apichat/emulator";
import { createResponder } from "pulumi-apichat/responder";
import { toNodeListener } from "pulumi-apichat/responder/node";
import { listen } from "../lib/listen.ts";
import { VERIFICATION_KEY } from "../million/flood.ts";

/** A test key of the service, valid nowhere. */
export const API_KEY = "api-key-of-the-benchmark-0123456789abcdef";

/** A server in its own process, which responds to each message with a report. */
export interface Server<Report> extends AsyncDisposable {
  ask(): Promise<Report>;
}

/** The CPU time of a receiver's process so far, in milliseconds. */
export interface ReceiverReport {
  url: string;
  cpuMs: number;
}

export interface ServiceReport {
  /** The address of the registration interface of each workspace. */
  baseUrls: string[];
  endpointUrl: string;
  /** The number of workspaces with a registration. */
  registered: number;
}

/**
 * Starts a server in a separate process, so that it does not share this one's event loop. It ends with this
 * process.
 */
export function startServer(name: "responder" | "bare"): Server<ReceiverReport>;
export function startServer(name: "service", workspaces: number): Server<ServiceReport>;
export function startServer(name: keyof typeof SERVERS, workspaces = 0): Server<unknown> {
  const options = { ipc: true, stdio: "inherit", reject: false } as const;
  const child = execaNode(fileURLToPath(import.meta.url), [name, String(workspaces)], options);
  return {
    ask: async () => {
      await child.sendMessage("ask");
      return child.getOneMessage();
    },
    [Symbol.asyncDispose]: async () => {
      child.kill();
      await child;
    },
  };
}

/** The responder on Node, with an empty handler. */
const responder = (): RequestListener =>
  toNodeListener(createResponder({ verificationKeys: VERIFICATION_KEY, onDelivery: () => undefined }));

/** The minimum for a receiver: reads the body and checks the HMAC. */
const bare = (): RequestListener => (request, response) => {
  const mac = createHmac("sha256", VERIFICATION_KEY);
  request.on("data", (chunk: Buffer) => mac.update(chunk));
  request.on("end", () => {
    const expected = Buffer.from(`sha256=${mac.digest("hex")}`);
    const signature = Buffer.from(String(request.headers["x-hub-signature-256"]));
    const isGood = expected.length === signature.length && timingSafeEqual(expected, signature);
    response.writeHead(isGood ? 200 : 401, { "content-length": 0 }).end();
  });
};

async function serve(listener: RequestListener): Promise<() => ReceiverReport> {
  const { url } = await listen(createServer(listener));
  return () => {
    const { user, system } = process.cpuUsage();
    return { url, cpuMs: (user + system) / 1000 };
  };
}

/** Starts the emulator with some workspaces, and their endpoint. */
async function startService(count: number): Promise<() => ServiceReport> {
  const names = Array.from(
    { length: count },
    (_, index) => `workspace-${String(index + 1).padStart(4, "0")}`,
  );
  const emulator = await startEmulator({ workspaces: names.map((name) => ({ name, apiKey: API_KEY })) });
  const { url: endpointUrl } = await listen(createServer(responder()));
  const workspaces = [...emulator.workspaces.values()];
  const baseUrls = workspaces.map(({ baseUrl }) => baseUrl);
  return () => {
    const registered = workspaces.filter(({ registration }) => registration).length;
    return { baseUrls, endpointUrl, registered };
  };
}

const SERVERS = {
  responder: () => serve(responder()),
  bare: () => serve(bare()),
  service: startService,
};

if (import.meta.main) {
  const [, , name, count] = process.argv;
  const started = SERVERS[name as keyof typeof SERVERS](Number(count));
  process.on("message", () => void started.then((report) => process.send?.(report())));
  process.on("disconnect", () => process.exit());
}
