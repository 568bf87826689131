/**
 * Accepts deliveries and forwards them. Any number of these processes can run concurrently, because their state is in
 * NATS.
 */
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { toNodeListener } from "pulumi-apichat/responder/node";
import { createAcceptor, nameOf } from "./accept.ts";
import { forwardAll } from "./forward.ts";
import { openQueue } from "./queue.ts";

const config = JSON.parse(readFileSync(process.argv[2] ?? "config.json", "utf8"));
const seed = process.env["KEY_SEED"];
if (!seed) throw new Error("the environment variable KEY_SEED is not set");
const queue = await openQueue(config.servers, config.replicas);
const accept = toNodeListener(createAcceptor(queue, seed, config.rotations));
const server = createServer(
  { requestTimeout: 20_000, connectionsCheckingInterval: 1_000 },
  (request, response) => {
    const end = (status: number) => () => response.writeHead(status).end();
    const name = nameOf(request.url);
    if (Object.hasOwn(config.workspaces, name)) accept(request, response);
    else if (name === "readyz") queue.connection.rtt().then(end(200), end(503));
    else end(404)();
  },
);
// Protects against senders without a key, as does toNodeListener's limit of 64 MiB for incomplete bodies.
server.maxConnections = 2_000;
server.listen(config.port, config.host, () => console.log(`listening on port ${config.port}`));
process.once("SIGTERM", () => server.close(() => void queue.connection.drain()));
await forwardAll(queue, config.workspaces);
