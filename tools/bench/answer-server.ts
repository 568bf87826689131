/** Answers every request with the same envelope, as cheaply as node:http can, so that the client is what is measured. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { serveParent } from "./child.ts";
import { VERIFICATION_KEY } from "./settings.ts";

const answer = Buffer.from(
  JSON.stringify({
    status: "ok",
    data: {
      webhook_url: "https://chat.acme.example/webhooks/apichat",
      webhook_verification_key: VERIFICATION_KEY,
      webhook_status: "verified",
      bot_url: "https://bots.example/api/apichat/f0123456789abcdef",
    },
  }),
);
const headers = { "content-type": "application/json", "content-length": String(answer.length) };
const server = createServer((request, response) => {
  request.resume();
  response.writeHead(200, headers).end(answer);
});
server.keepAliveTimeout = 60_000;
server.listen(0, "127.0.0.1", () => {
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  serveParent(() => url);
});
