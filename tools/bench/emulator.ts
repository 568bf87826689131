import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { startChild, type Child } from "./child.ts";
import { openSender, type Sender } from "./load.ts";
import type { Measurement, Row, RowContext } from "./measurement.ts";
import type { RelayReport } from "./servers/relay-report.ts";
import { alternate, median, pairwise, timeOf } from "./statistics.ts";

const CONVERSATIONS = 64;
const MESSAGES_PER_TURN = 3_000;
const ROUNDS = 15;

/** What the emulator costs over the web framework that it is built on. */
export const emulatorRow: Row = {
  name: "emulator",
  title: "A message in and a signed reply out, against bare hono and undici: about 40 seconds",
  measure: measureEmulator,
};

async function measureEmulator({ signal, update }: RowContext): Promise<Measurement[]> {
  const endpoint = await startEndpoint();
  const start = (module: string): Promise<Child<RelayReport>> =>
    startChild<RelayReport>(new URL(`servers/${module}`, import.meta.url), [endpoint.url]);
  const [ours, bare] = await Promise.all([start("emulator.ts"), start("bare-relay.ts")]);
  try {
    const converse =
      ({ ready }: Child<RelayReport>) =>
      () =>
        timeOf(() => exchangeMessages(ready, endpoint, signal));
    const sides = { ours: converse(ours), bare: converse(bare) };
    await alternate(sides, { rounds: 2, signal });
    const samples = await alternate(sides, {
      rounds: ROUNDS,
      signal,
      onTurn: (_side, round) => update(`round ${round} of ${ROUNDS}`),
    });
    const rounds = pairwise(samples.bare, samples.ours, (bareMs, oursMs) => bareMs / oursMs);
    return [
      {
        what: `emulator, a message in and a signed reply delivered, ${CONVERSATIONS} conversations (rate)`,
        against: "hono taking a JSON post and undici sending one",
        value: median(rounds),
        unit: "ratio",
        target: { atLeast: 0.5 },
        rounds,
        samples,
      },
    ];
  } finally {
    await Promise.all([ours.stop(), bare.stop()]);
    endpoint.close();
  }
}

interface Endpoint {
  url: string;
  /** Settles when the next reply of a conversation has arrived. */
  nextReply(conversationId: number): Promise<void>;
  close(): void;
}

/** Takes the replies, and tells by `conv_id` whose they are. */
async function startEndpoint(): Promise<Endpoint> {
  const waiting = new Map<number, () => void>();
  const server = createServer((request, response) => {
    let body = "";
    request.on("data", (chunk: Buffer) => (body += chunk.toString("latin1")));
    request.on("end", () => {
      response.writeHead(200, { "content-length": 0 }).end();
      waiting.get(Number(/"conv_id":(\d+)/.exec(body)?.[1]))?.();
    });
  });
  server.keepAliveTimeout = 60_000;
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    nextReply: (conversationId) =>
      new Promise((resolve) => {
        waiting.set(conversationId, resolve);
      }),
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

/** In each conversation the next message goes out when the reply to the last one has arrived. */
async function exchangeMessages(relay: RelayReport, endpoint: Endpoint, signal: AbortSignal): Promise<void> {
  let left = MESSAGES_PER_TURN;
  const converse = async (conversationId: number): Promise<void> => {
    const sender = await openSender(relay.url, formatMessage(relay, conversationId), signal);
    try {
      while (left > 0) {
        left -= 1;
        await exchangeOne(sender, endpoint.nextReply(conversationId));
      }
    } finally {
      sender.close();
    }
  };
  await Promise.all(Array.from({ length: CONVERSATIONS }, (_, index) => converse(index + 1)));
}

async function exchangeOne(sender: Sender, reply: Promise<void>): Promise<void> {
  await Promise.all([sender.send(), reply]);
}

function formatMessage({ url, flowApiKey }: RelayReport, conversationId: number): Buffer {
  const { host, pathname } = new URL(url);
  const body = JSON.stringify({
    content: "Where is my parcel?",
    message_type: "incoming",
    sender: { id: "7", name: "Ana", email: "", phone_number: "", type: "contact" },
    conversation_id: conversationId,
    event: "message_created",
  });
  const head = [
    `POST ${pathname} HTTP/1.1`,
    `host: ${host}`,
    "content-type: application/json",
    `content-length: ${body.length}`,
    `authorization: Bearer ${flowApiKey}`,
  ];
  return Buffer.from(`${head.join("\r\n")}\r\n\r\n${body}`);
}
