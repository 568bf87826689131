import type { RequestListener } from "node:http";
import { startListener } from "../../../test/support/http.ts";
import { startServer, type RelayReport } from "../child.ts";
import { formatPost, openSender } from "../load.ts";
import { compare, rateOfTimes, timeOf, type Row } from "../measure.ts";

const CONVERSATIONS = 64;
const MESSAGES_PER_TURN = 3000;

/** What the emulator costs over the web framework that it is built on. */
export const emulatorRow: Row = {
  name: "emulator",
  title: "A message in and a signed reply out, against bare hono and undici: about 40 seconds",
  measure: async (context) => {
    const endpoint = createEndpoint();
    await using resources = new AsyncDisposableStack();
    const { url } = resources.adopt(await startListener(endpoint.listener), ({ close }) => close());
    await using ours = await startServer<RelayReport>("emulator", url);
    await using bare = await startServer<RelayReport>("relay", url);
    const converse = (relay: RelayReport) => (): Promise<number> =>
      timeOf(() => exchangeMessages(relay, endpoint, context.signal));
    const measurement = await compare(context, {
      what: `emulator, a message in and a signed reply delivered, ${CONVERSATIONS} conversations (rate)`,
      against: "hono taking a JSON post and undici sending one",
      target: { atLeast: 0.5 },
      combine: rateOfTimes,
      ours: converse(ours.ready),
      bare: converse(bare.ready),
      rounds: 15,
      warmUpRounds: 2,
    });
    return [measurement];
  },
};

interface Endpoint {
  listener: RequestListener;
  /** Settles when the next reply of a conversation has arrived. */
  nextReply(conversationId: number): Promise<void>;
}

/** Takes the replies, and knows by `conv_id` whose they are. */
function createEndpoint(): Endpoint {
  const waiting = new Map<number, () => void>();
  return {
    listener: (request, response) => {
      let body = "";
      request.on("data", (chunk: Buffer) => (body += chunk.toString("latin1")));
      request.on("end", () => {
        response.writeHead(200, { "content-length": 0 }).end();
        waiting.get(Number(/"conv_id":(\d+)/.exec(body)?.[1]))?.();
      });
    },
    nextReply: (conversationId) => new Promise((resolve) => void waiting.set(conversationId, resolve)),
  };
}

/** In each conversation the next message goes out when the reply to the last one has arrived. */
async function exchangeMessages(
  { url, flowApiKey }: RelayReport,
  endpoint: Endpoint,
  signal: AbortSignal,
): Promise<void> {
  let left = MESSAGES_PER_TURN;
  const converse = async (conversationId: number): Promise<void> => {
    const body = JSON.stringify({
      content: "Where is my parcel?",
      message_type: "incoming",
      sender: { id: "7", name: "Ana", email: "", phone_number: "", type: "contact" },
      conversation_id: conversationId,
      event: "message_created",
    });
    const message = formatPost(url, body, { authorization: `Bearer ${flowApiKey}` });
    using sender = await openSender(url, message, signal);
    while (left-- > 0) await Promise.all([sender.send(), endpoint.nextReply(conversationId)]);
  };
  await Promise.all(Array.from({ length: CONVERSATIONS }, (_, index) => converse(index + 1)));
}
