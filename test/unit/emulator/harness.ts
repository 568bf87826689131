import { createServer, type IncomingHttpHeaders, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";
import {
  startEmulator,
  type Emulator,
  type EmulatorOptions,
  type Workspace,
} from "../../../provider/emulator/index.js";
import { expectRecordsMatchOpenApi } from "../../support/openapi.js";
import { readParts } from "../../support/read-parts.js";

export { emptyConfiguration } from "../../../tools/schema/samples.ts";

export const apiKey = "test-api-key-0123456789";
export const verificationKey = "verification-key-0123456789";

export interface Received {
  method: string;
  path: string;
  headers: IncomingHttpHeaders;
  body: string;
}

export interface Endpoint {
  /** The address of the webhook. */
  url: string;
  received: Received[];
  close: () => Promise<void>;
}

type Responder = (request: Received, response: ServerResponse) => unknown;

/** A webhook URL on a real socket. Without a responder it answers the challenge in whichever encoding it came. */
export async function startEndpoint(respond: Responder = answerChallenge): Promise<Endpoint> {
  const received: Received[] = [];
  const server = createServer((incoming, response) => {
    const chunks: Buffer[] = [];
    incoming.on("data", (chunk: Buffer) => chunks.push(chunk));
    incoming.on("end", () => {
      const { method = "", url: path = "", headers } = incoming;
      const request = { method, path, headers, body: Buffer.concat(chunks).toString() };
      received.push(request);
      respond(request, response);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const close = (): Promise<void> => {
    const closed = new Promise<void>((resolve) => server.close(() => resolve()));
    server.closeAllConnections();
    return closed;
  };
  onTestFinished(close);
  return { url: `http://127.0.0.1:${port}/webhook`, received, close };
}

/** An endpoint that answers its handshake only when told: `asked` settles when it has come in. */
export async function startHeldEndpoint(): Promise<Endpoint & { asked: Promise<() => void> }> {
  const { promise: asked, resolve } = Promise.withResolvers<() => void>();
  const endpoint = await startEndpoint((request, response) => {
    resolve(() => answerChallenge(request, response));
  });
  return { ...endpoint, asked };
}

export function answerChallenge(request: Received, response: ServerResponse): void {
  response.end(challengeOf(request));
}

function challengeOf({ path, headers, body }: Received): string {
  if (headers["content-type"] === "application/json") {
    return (JSON.parse(body) as { hub_challenge: string }).hub_challenge;
  }
  if (headers["content-type"]?.startsWith("multipart/")) return readParts(body)["hub_challenge"] ?? "";
  const parameters = new URLSearchParams(body === "" ? new URL(path, "http://endpoint").search : body);
  return parameters.get("hub_challenge") ?? "";
}

/** An emulator with the workspace `acme`, closed when the test ends; all that it answered must be in schema/openapi.json. */
export async function startAcme(
  options: EmulatorOptions = {},
): Promise<{ emulator: Emulator; acme: Workspace }> {
  const emulator = await startEmulator({ workspaces: [{ name: "acme", apiKey }], ...options });
  onTestFinished(async () => {
    await emulator.close();
    expectRecordsMatchOpenApi(emulator.requests, options);
  });
  return { emulator, acme: emulator.workspace("acme") };
}

export interface Answer {
  status: number;
  headers: Headers;
  text: string;
  json: () => unknown;
}

/** POSTs as the registration interface wants it: action in the query, everything else in the body. */
export async function call(workspace: Workspace, action: string, fields: object = {}): Promise<Answer> {
  return post(addressOf(workspace, action), JSON.stringify({ ChaveApi: workspace.apiKey, ...fields }));
}

export function addressOf({ baseUrl }: Workspace, action: string): string {
  return `${baseUrl}${baseUrl.includes("?") ? "&" : "?"}action=${action}`;
}

export async function post(url: string, body: string): Promise<Answer> {
  const response = await fetch(url, { method: "POST", body });
  const text = await response.text();
  return {
    status: response.status,
    headers: response.headers,
    text,
    json: () => JSON.parse(text) as unknown,
  };
}

/** set-webhook to an endpoint. */
export function set(workspace: Workspace, url: string, key = verificationKey): Promise<Answer> {
  return call(workspace, "set-webhook", { webhook_url: url, webhook_verification_key: key });
}
