import { request as send } from "node:http";
import type { Emulator, EmulatorOptions, Workspace } from "../../../provider/emulator/index.js";
import type { InboundTextMessage, OutboundText } from "../../../schema/index.js";
import { set, startAcme, startEndpoint, type Endpoint } from "./harness.js";

export interface ControlAnswer {
  status: number;
  headers: Headers;
  text: string;
  /** The body as JSON. */
  body: unknown;
}

/** Calls the control API: `control(emulator, "POST /_emulator/reset", { workspaces: true })`. */
export async function control(
  { url }: Pick<Emulator, "url">,
  route: string,
  body?: unknown,
  headers: Record<string, string> = {},
): Promise<ControlAnswer> {
  const [method = "", path = ""] = route.split(" ");
  const json = body === undefined ? {} : { "content-type": "application/json" };
  const response = await fetch(url + path, {
    method,
    headers: { ...json, ...headers },
    redirect: "manual",
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  const isJson = response.headers.get("content-type") === "application/json" && text !== "";
  return {
    status: response.status,
    headers: response.headers,
    text,
    body: isJson ? (JSON.parse(text) as unknown) : undefined,
  };
}

/** Sends a request with headers that fetch keeps for itself, such as Host; gives its status. */
export function rawStatus(
  { url }: Pick<Emulator, "url">,
  path: string,
  {
    method = "GET",
    headers = {},
    body = "",
  }: { method?: string; headers?: Record<string, string>; body?: string } = {},
): Promise<number> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    const outgoing = send({ hostname, port, path, method, headers, agent: false }, (response) => {
      response.resume();
      response.once("end", () => resolve(response.statusCode ?? 0));
    });
    outgoing.once("error", reject);
    outgoing.end(body);
  });
}

export const reply: OutboundText = {
  sender_id: "contact-1",
  conv_id: 42,
  type: "text",
  message_type: "outgoing",
  private: false,
  text: "Olá",
};

export const inbound: InboundTextMessage = {
  event: "message_created",
  content: "hello",
  message_type: "incoming",
  sender: { id: "contact-1", name: "Ana", type: "contact" },
  conversation_id: 42,
};

export const token = "control-token-0123456789";

/** An emulator whose workspace `acme` is registered at an endpoint of its own. */
export async function startRegistered(
  options: EmulatorOptions = {},
): Promise<{ emulator: Emulator; acme: Workspace; endpoint: Endpoint }> {
  const started = await startAcme(options);
  const endpoint = await startEndpoint();
  await set(started.acme, `${endpoint.url}?secret=query-value-0123456789`);
  return { ...started, endpoint };
}
