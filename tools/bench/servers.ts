/** The receivers that the benchmarks measure. `startServer` runs this file in a new process for each of them. */
import { execaNode } from "execa";
import { createHmac, timingSafeEqual } from "node:crypto";
import { createServer, type RequestListener } from "node:http";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { createResponder } from "pulumi-apichat/responder";
import { toNodeListener } from "pulumi-apichat/responder/node";
import { listen } from "../lib/listen.ts";

/** The receivers' test key, valid nowhere. */
export const VERIFICATION_KEY = "verification-key-of-the-benchmark-0123456789";

/** `early` counts deliveries that arrived while an earlier one of their conversation was missing. */
const arrivals = { arrived: 0, repeated: 0, early: 0 };

/** Only `target` counts arrivals. */
type Report = typeof arrivals & {
  url: string;
  /** The CPU time of the process so far, in milliseconds. */
  cpuMs: number;
};

/**
 * Starts a server in a separate process, so that it does not share an event loop with the sender. The server ends
 * when this process ends.
 */
export function startServer(name: keyof typeof LISTENERS) {
  const options = { ipc: true, stdio: "inherit", reject: false } as const;
  const child = execaNode(fileURLToPath(import.meta.url), [name], options);
  return {
    ask: async (): Promise<Report> => {
      await child.sendMessage("ask");
      return (await child.getOneMessage()) as unknown as Report;
    },
    [Symbol.asyncDispose]: async () => {
      child.kill();
      await child;
    },
  };
}

/** The responder on Node, with an empty handler. */
export const responder = (): RequestListener =>
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

/** The target of a flood: accepts every delivery, and checks that each conversation is numbered 0, 1, … */
const target = (): RequestListener => {
  const last = new Map<string, number>();
  return (request, response) => {
    const { headers } = request;
    const conversation = String(headers["x-conversation"]);
    const [number, expected] = [Number(headers["x-number"]), (last.get(conversation) ?? -1) + 1];
    arrivals[number === expected ? "arrived" : number < expected ? "repeated" : "early"] += 1;
    last.set(conversation, Math.max(number, expected - 1));
    request.resume().once("end", () => response.end());
  };
};

const LISTENERS = { responder, bare, target };

if (import.meta.main) {
  const listener = LISTENERS[process.argv[2] as keyof typeof LISTENERS]();
  const { url } = await listen(createServer(listener));
  process.on("message", () => {
    const { user, system } = process.cpuUsage();
    process.send?.({ url, cpuMs: (user + system) / 1000, ...arrivals } satisfies Report);
  });
  process.on("disconnect", () => process.exit());
}
