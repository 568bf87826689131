/** What single functions cost. */
import { build } from "esbuild";
import { convertV4MiniflareOptions, Miniflare } from "miniflare";
import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { MessageClient, RegistrationClient } from "pulumi-apichat/client";
import { signBody, verifySignature } from "pulumi-apichat/responder";
import { Agent, request } from "undici";
import { createRedactor } from "../../dist/provider/lib/redact.js";
import { createLog } from "../../dist/provider/server/log.js";
import { API_KEY, startServer, VERIFICATION_KEY } from "./child.ts";
import { rates, type Context, type Samples } from "./measure.ts";

/** `verifySignature` and the two functions of Node that it is built on, for each size of a body. */
export async function verifySignatures(context: Context): Promise<Samples> {
  const sides: Record<string, () => Promise<void> | void> = {};
  for (const kibibytes of [1, 64]) {
    const body = randomBytes(kibibytes * 1024);
    const signature = await signBody(VERIFICATION_KEY, body);
    const options = { verificationKeys: VERIFICATION_KEY, body, signature };
    sides[`ours${kibibytes}`] = async () => requireTrue(await verifySignature(options));
    sides[`bare${kibibytes}`] = () => requireTrue(verifyBare(body, signature));
  }
  return await rates(context, sides, { rounds: 51, warmUp: 5 });
}

function requireTrue(isGood: boolean): void {
  if (!isGood) throw new Error("a good signature was not verified");
}

function verifyBare(body: Buffer, signature: string): boolean {
  const expected = `sha256=${createHmac("sha256", VERIFICATION_KEY).update(body).digest("hex")}`;
  return timingSafeEqual(Buffer.from(expected), Buffer.from(signature));
}

/** The same in the Workers runtime. Timed from outside: its own clock does not advance while it computes. */
export async function verifyInWorker(context: Context): Promise<Samples> {
  const entry = fileURLToPath(new URL("worker-signature.mjs", import.meta.url));
  const contents = (await bundle({ entryPoints: [entry] })).toString();
  const modules = [{ type: "ESModule" as const, path: "worker.mjs", contents }];
  const worker = new Miniflare(convertV4MiniflareOptions({ modules, compatibilityDate: "2026-11-01" }));
  await using resources = new AsyncDisposableStack();
  resources.defer(() => worker.dispose());
  const url = await worker.ready;
  const callOften = (path: string) => async (): Promise<void> => {
    const response = await fetch(new URL(`${path}?calls=1000`, url));
    const text = await response.text();
    if (!response.ok) throw new Error(`the Worker answered ${response.status}: ${text.slice(0, 200)}`);
  };
  return await rates(
    context,
    { ours: callOften("/ours"), bare: callOften("/bare") },
    { rounds: 31, warmUp: 3 },
  );
}

/** The smallest Worker that receives deliveries: the responder and nothing else. */
const WORKER = `import { createResponder } from "pulumi-apichat/responder";
export default {
  fetch: (request, env, context) =>
    createResponder({ verificationKeys: env.VERIFICATION_KEY, onDelivery() {} })(request, env, context),
};
`;

/** What the responder adds to a Worker, in bytes. */
export async function bundleWorker(): Promise<Samples> {
  const resolveDir = fileURLToPath(new URL("../..", import.meta.url));
  const code = await bundle({ stdin: { contents: WORKER, resolveDir, sourcefile: "worker.js" } });
  return { ours: [gzipSync(code, { level: 9 }).length] };
}

/** The built package and a Worker in one module, minified. */
async function bundle(input: Pick<Parameters<typeof build>[0], "stdin" | "entryPoints">): Promise<Buffer> {
  const options = { bundle: true, minify: true, write: false, format: "esm", target: "es2024" } as const;
  const { outputFiles } = await build({
    ...input,
    ...options,
    platform: "neutral",
    mainFields: ["module", "main"],
  });
  return Buffer.concat(outputFiles.map(({ contents }) => contents));
}

const sender = { id: "7", name: "Ana" };
const text = "Where is my parcel?";

/** Calls of the clients, many at once, and the same calls by undici alone, which get the same responses. */
export async function callClients(context: Context): Promise<Samples> {
  await using server = await startServer("envelope");
  const { url } = server.ready;
  const registration = new RegistrationClient({ baseUrl: url, apiKey: API_KEY });
  const messages = new MessageClient({ botUrl: url, flowApiKey: API_KEY });
  await using resources = new AsyncDisposableStack();
  const dispatcher = resources.adopt(new Agent({ connections: 8 }), (agent) => agent.close());
  const post = async (path: string, fields: object, more = {}): Promise<unknown> => {
    const headers = { "content-type": "application/json", accept: "application/json", ...more };
    const body = JSON.stringify(fields);
    const response = await request(`${url}${path}`, { method: "POST", headers, body, dispatcher });
    return JSON.parse(await response.body.text()) as unknown;
  };
  const message = {
    content: text,
    message_type: "incoming",
    sender: { ...sender, email: "", phone_number: "", type: "contact" },
    conversation_id: 1,
    event: "message_created",
  };
  const sides = {
    getWebhook: atOnce(8, () => registration.getWebhook()),
    bareGet: atOnce(8, () => post("?action=get-webhook", { ChaveApi: API_KEY })),
    sendText: atOnce(16, () => messages.sendText({ sender, conversationId: 1, text })),
    bareSend: atOnce(16, () => post("", message, { authorization: `Bearer ${API_KEY}` })),
  };
  return await rates(context, sides, { rounds: 51, warmUp: 10 });
}

/** As a target may answer; where the log shows it, the keys are redacted. */
const LOGGED = {
  workspace: "workspace-0001",
  id: "1d0ad9b8-5a4e-4c73-9d1b-6f5f9a3c2f11",
  error: "connect ECONNREFUSED 127.0.0.1:3000, after 1 attempt to reach the target of the workspace",
};

/** What the redaction of many keys adds to a line of the responder's log. */
export async function logLines(context: Context): Promise<Samples> {
  let written = 0;
  const keys = Array.from({ length: 2000 }, () => randomBytes(32).toString("base64url"));
  const log = createLog((line) => (written += line.length), createRedactor(keys));
  const writeBare = (): void => {
    const line = { time: new Date().toISOString(), level: "warn", event: "not forwarded", ...LOGGED };
    written += JSON.stringify(line).length;
  };
  const sides = { ours: () => log.warn("not forwarded", LOGGED), bare: writeBare };
  const samples = await rates(context, sides, { rounds: 51, warmUp: 5 });
  if (written === 0) throw new Error("nothing was written");
  return samples;
}

const atOnce = (calls: number, call: () => Promise<unknown>) => async (): Promise<unknown> =>
  await Promise.all(Array.from({ length: calls }, call));
