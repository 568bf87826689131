/** The least that an echo must do: takes a JSON post and sends one to the endpoint: `bare-relay.ts <endpoint url>`. */
import { serve } from "@hono/node-server";
import { Hono } from "hono";
import { Agent, request } from "undici";
import { serveParent } from "../child.ts";
import { API_KEY } from "../settings.ts";
import type { RelayReport } from "./relay-report.ts";

const [, , endpointUrl = ""] = process.argv;
const dispatcher = new Agent();

interface Message {
  content: string;
  conversation_id: number;
  sender: { id: string };
}

async function reply({ content, conversation_id, sender }: Message): Promise<void> {
  const { body } = await request(endpointUrl, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({
      sender_id: sender.id,
      conv_id: conversation_id,
      type: "text",
      message_type: "outgoing",
      private: false,
      text: content,
    }),
    dispatcher,
  });
  await body.dump();
}

const app = new Hono();
app.post("/", async (context) => {
  void reply(await context.req.json<Message>());
  return context.body(null, 204);
});
serve({ fetch: app.fetch, port: 0, hostname: "127.0.0.1" }, ({ port }) => {
  serveParent((): RelayReport => ({ url: `http://127.0.0.1:${port}/`, flowApiKey: API_KEY }));
});
