import { MessageClient, RegistrationClient } from "pulumi-apichat/client";
import { Agent, request } from "undici";
import { startServer } from "../child.ts";
import { compare, rateOfTimes, timeOf, type Measurement, type Row, type RowContext } from "../measure.ts";
import { API_KEY } from "../settings.ts";

const CALLS_PER_TURN = 800;
/** As many as the clients open to one origin: how many is a policy, and not what is measured. */
const CONNECTIONS = 8;

/** One call of a client, and the same call by undici alone. */
interface Pair {
  what: string;
  callsAtOnce: number;
  /** Both call this server. */
  prepare: (url: string, dispatcher: Agent) => Record<"ours" | "bare", () => Promise<unknown>>;
}

/** What `RegistrationClient` costs over the HTTP client that it is built on. */
export const clientRow: Row = {
  name: "client",
  title: "RegistrationClient.getWebhook against bare undici: about 15 seconds",
  measure: (context) =>
    measurePair(context, {
      what: "RegistrationClient.getWebhook",
      callsAtOnce: 8,
      prepare: (url, dispatcher) => {
        const client = new RegistrationClient({ baseUrl: url, apiKey: API_KEY });
        const body = { ChaveApi: API_KEY };
        return {
          ours: () => client.getWebhook(),
          bare: () => postBare(`${url}?action=get-webhook`, { body, dispatcher }),
        };
      },
    }),
};

/** What `MessageClient` costs over it. */
export const messageClientRow: Row = {
  name: "message-client",
  title: "MessageClient.sendText against bare undici: about 15 seconds",
  measure: (context) =>
    measurePair(context, {
      what: "MessageClient.sendText",
      callsAtOnce: 16,
      prepare: (url, dispatcher) => {
        const client = new MessageClient({ botUrl: url, flowApiKey: API_KEY });
        const sender = { id: "7", name: "Ana" };
        const text = "Where is my parcel?";
        const body = {
          content: text,
          message_type: "incoming",
          sender: { ...sender, email: "", phone_number: "", type: "contact" },
          conversation_id: 1,
          event: "message_created",
        };
        const headers = { authorization: `Bearer ${API_KEY}` };
        return {
          ours: () => client.sendText({ sender, conversationId: 1, text }),
          bare: () => postBare(url, { body, headers, dispatcher }),
        };
      },
    }),
};

async function measurePair(
  context: RowContext,
  { what, callsAtOnce, prepare }: Pair,
): Promise<Measurement[]> {
  const server = await startServer("envelope");
  const dispatcher = new Agent({ connections: CONNECTIONS });
  try {
    const { ours, bare } = prepare(server.ready.url, dispatcher);
    const claim = {
      what: `${what}, ${callsAtOnce} at once (rate)`,
      against: `undici request over ${CONNECTIONS} connections, and JSON.parse`,
      target: { atLeast: 0.85 },
      combine: rateOfTimes,
    };
    const measurement = await compare(context, claim, {
      ours: () => timeOf(() => callOften(ours, callsAtOnce)),
      bare: () => timeOf(() => callOften(bare, callsAtOnce)),
      rounds: 101,
      warmUpRounds: 20,
    });
    return [measurement];
  } finally {
    await Promise.all([dispatcher.close(), server.stop()]);
  }
}

async function callOften(call: () => Promise<unknown>, callsAtOnce: number): Promise<void> {
  let left = CALLS_PER_TURN;
  const callInTurn = async (): Promise<void> => {
    while (left-- > 0) await call();
  };
  await Promise.all(Array.from({ length: callsAtOnce }, callInTurn));
}

async function postBare(
  url: string,
  { body, headers, dispatcher }: { body: object; headers?: Record<string, string>; dispatcher: Agent },
): Promise<unknown> {
  const answer = await request(url, {
    method: "POST",
    headers: { "content-type": "application/json", accept: "application/json", ...headers },
    body: JSON.stringify(body),
    dispatcher,
  });
  return JSON.parse(await answer.body.text()) as unknown;
}
