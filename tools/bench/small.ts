/** What single functions cost. */
import { build } from "esbuild";
import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { MessageClient, RegistrationClient } from "pulumi-apichat/client";
import { signBody, verifySignature } from "pulumi-apichat/responder";
import { Agent, request } from "undici";
import { API_KEY, startServer, VERIFICATION_KEY } from "./child.ts";
import { rates, type Context, type Samples } from "./measure.ts";

/** `verifySignature` and the two functions of Node that it is built on, with a body of each size. */
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

/** The smallest Worker that receives deliveries. */
const WORKER = `import { createResponder } from "pulumi-apichat/responder";
export default {
  fetch: (request, env, context) =>
    createResponder({ verificationKeys: env.VERIFICATION_KEY, onDelivery() {} })(request, env, context),
};
`;

/** The size of a minified Worker with the responder, in bytes. */
export async function bundleWorker(): Promise<Samples> {
  const resolveDir = fileURLToPath(new URL("../..", import.meta.url));
  const { outputFiles } = await build({
    stdin: { contents: WORKER, resolveDir, sourcefile: "worker.js" },
    ...({ bundle: true, minify: true, write: false, format: "esm", target: "es2024" } as const),
    platform: "neutral",
    mainFields: ["module", "main"],
  });
  return { ours: [gzipSync(outputFiles[0]?.contents ?? "", { level: 9 }).length] };
}

const sender = { id: "7", name: "Ana" };
const text = "Where is my parcel?";

/** Concurrent calls of the clients, and the same calls with undici alone, which get the same responses. */
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

const atOnce = (calls: number, call: () => Promise<unknown>) => (): Promise<unknown> =>
  Promise.all(Array.from({ length: calls }, call));
