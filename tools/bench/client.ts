import { Agent, request } from "undici";
import { MessageClient, RegistrationClient } from "pulumi-apichat/client";
import { startChild } from "./child.ts";
import type { Measurement, Row, RowContext } from "./measurement.ts";
import { API_KEY } from "./settings.ts";
import { alternate, median, pairwise, timeOf } from "./statistics.ts";

const CALLS_PER_TURN = 800;
/** As many as the clients open to one origin: how many is a policy, and not what is measured. */
const CONNECTIONS = 8;
/** Many short turns: whatever else the machine does strikes few of them, and the median leaves those out. */
const ROUNDS = 101;
const WARM_UP_ROUNDS = 20;

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
  { signal, update }: RowContext,
  { what, callsAtOnce, prepare }: Pair,
): Promise<Measurement[]> {
  const server = await startChild<string>(new URL("answer-server.ts", import.meta.url));
  const dispatcher = new Agent({ connections: CONNECTIONS });
  try {
    const { ours, bare } = prepare(server.ready, dispatcher);
    const sides = {
      ours: () => timeOf(() => callOften(ours, callsAtOnce)),
      bare: () => timeOf(() => callOften(bare, callsAtOnce)),
    };
    await alternate(sides, { rounds: WARM_UP_ROUNDS, signal });
    const samples = await alternate(sides, {
      rounds: ROUNDS,
      signal,
      onTurn: (_side, round) => update(`round ${round} of ${ROUNDS}`),
    });
    const rounds = pairwise(samples.bare, samples.ours, (bareMs, oursMs) => bareMs / oursMs);
    return [
      {
        what: `${what}, ${callsAtOnce} at once (rate)`,
        against: `undici request over ${CONNECTIONS} connections, and JSON.parse`,
        value: median(rounds),
        unit: "ratio",
        target: { atLeast: 0.85 },
        rounds,
        samples,
      },
    ];
  } finally {
    await Promise.all([dispatcher.close(), server.stop()]);
  }
}

async function callOften(call: () => Promise<unknown>, callsAtOnce: number): Promise<void> {
  let left = CALLS_PER_TURN;
  const callInTurn = async (): Promise<void> => {
    while (left > 0) {
      left -= 1;
      await call();
    }
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
