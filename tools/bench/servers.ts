/**
 * The servers that the benchmarks measure, each in its own process: `servers.ts <name>`, `servers.ts program
 * <configuration>`, or `servers.ts service <ServiceOptions as JSON>`.
 */
import { createHmac, timingSafeEqual } from "node:crypto";
import { createServer, type IncomingMessage, type RequestListener } from "node:http";
import { startEmulator } from "pulumi-apichat/emulator";
import { createResponder } from "pulumi-apichat/responder";
import { toNodeListener } from "pulumi-apichat/responder/node";
import { startServer as startResponder } from "../../dist/provider/server/server.js";
import { listen } from "../lib/listen.ts";
import {
  API_KEY,
  type ServerReport,
  type ServiceOptions,
  type ServiceReport,
  VERIFICATION_KEY,
  workspaceNames,
} from "./child.ts";

const [, , name = "", argument = ""] = process.argv;

/** Reads the body, and responds with the status that `use` returns, without a body. */
const reading =
  (use: (body: Buffer, request: IncomingMessage) => number): RequestListener =>
  (req, res) => {
    const chunks: Buffer[] = [];
    req.on("data", (chunk: Buffer) => chunks.push(chunk));
    req.on("end", () => res.writeHead(use(Buffer.concat(chunks), req), { "content-length": 0 }).end());
  };

/** The responder on Node, with an empty handler. */
const respond = (): RequestListener =>
  toNodeListener(createResponder({ verificationKeys: VERIFICATION_KEY, onDelivery: () => undefined }));

/** The listeners of the servers under load. */
const listeners: Record<string, () => RequestListener> = {
  responder: respond,

  /** The minimum for a receiver: reads the body and checks the HMAC. */
  bare: () =>
    reading((body, { headers }) => {
      const mac = createHmac("sha256", VERIFICATION_KEY).update(body).digest("hex");
      const expected = Buffer.from(`sha256=${mac}`);
      const signature = Buffer.from(String(headers["x-hub-signature-256"]));
      const isGood = expected.length === signature.length && timingSafeEqual(expected, signature);
      return isGood ? 200 : 401;
    }),

  /** The minimum for a server that rejects a body: reads it. */
  reader: () => reading(() => 401),
};

const CALLS = ["get-webhook", "set-webhook", "delete-webhook"] as const;

/** Starts the emulator with some workspaces, and their endpoint. */
async function startService(): Promise<() => ServiceReport> {
  const { workspaces, delayMs = 0 } = JSON.parse(argument) as ServiceOptions;
  const emulator = await startEmulator({
    workspaces: workspaceNames(workspaces).map((each) => ({ name: each, apiKey: API_KEY })),
  });
  for (const operation of delayMs > 0 ? CALLS : []) {
    emulator.injectFault({ operation, fault: { delayMs }, every: 1 });
  }
  const { url } = await listen(createServer(respond()));
  return () => {
    const registered = [...emulator.workspaces.values()].filter(({ registration }) => registration).length;
    return { serviceUrl: emulator.url, endpointUrl: `${url}/`, registered };
  };
}

/** The counterpart of `startServer` in child.ts: sends a report now and for each message. */
function serveParent(report: () => unknown): void {
  const send = (): void => void process.send?.(report());
  process.on("message", send);
  process.on("disconnect", () => process.exit());
  send();
}

/** Starts the whole responder with a configuration file. */
async function startProgram(): Promise<{ url: string }> {
  const server = await startResponder({ configFile: argument, instance: "bench" });
  const { port } = await server.status();
  return { url: `http://127.0.0.1:${port}` };
}

const listener = listeners[name];
if (listener || name === "program") {
  const { url } = await (listener ? listen(createServer(listener())) : startProgram());
  serveParent((): ServerReport => {
    const { user, system } = process.cpuUsage();
    return { url, cpuMs: (user + system) / 1000 };
  });
} else serveParent(await startService());
