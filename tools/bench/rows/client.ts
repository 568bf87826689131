import { MessageClient, RegistrationClient } from "pulumi-apichat/client";
import { Agent, request } from "undici";
import { API_KEY, startServer } from "../child.ts";
import { compare, rateOfTimes, timeOf, type Row } from "../measure.ts";

const CALLS_PER_TURN = 800;
/** As many as the clients open to one origin: how many is a policy, and not what is measured. */
const CONNECTIONS = 8;

/** A call of a client, and the same call by undici alone, which gets the same answer. */
interface Pair {
  name: string;
  what: string;
  callsAtOnce: number;
  /** Makes the call of the client of this URL. */
  prepare: (url: string) => () => Promise<unknown>;
  bare: { query?: string; headers?: Record<string, string>; body: object };
}

const sender = { id: "7", name: "Ana" };
const text = "Where is my parcel?";

/** What the clients cost over the HTTP client that they are built on. */
export const clientRows = [
  rowOf({
    name: "client",
    what: "RegistrationClient.getWebhook",
    callsAtOnce: 8,
    prepare: (baseUrl) => {
      const client = new RegistrationClient({ baseUrl, apiKey: API_KEY });
      return () => client.getWebhook();
    },
    bare: { query: "?action=get-webhook", body: { ChaveApi: API_KEY } },
  }),
  rowOf({
    name: "message-client",
    what: "MessageClient.sendText",
    callsAtOnce: 16,
    prepare: (botUrl) => {
      const client = new MessageClient({ botUrl, flowApiKey: API_KEY });
      return () => client.sendText({ sender, conversationId: 1, text });
    },
    bare: {
      headers: { authorization: `Bearer ${API_KEY}` },
      body: {
        content: text,
        message_type: "incoming",
        sender: { ...sender, email: "", phone_number: "", type: "contact" },
        conversation_id: 1,
        event: "message_created",
      },
    },
  }),
];

function rowOf({ name, what, callsAtOnce, prepare, bare }: Pair): Row {
  const timeCalls = (call: () => Promise<unknown>) => (): Promise<number> =>
    timeOf(() => {
      let left = CALLS_PER_TURN;
      const callInTurn = async (): Promise<void> => {
        while (left-- > 0) await call();
      };
      return Promise.all(Array.from({ length: callsAtOnce }, callInTurn));
    });
  return {
    name,
    title: `${what} against bare undici: about 15 seconds`,
    measure: async (context) => {
      await using server = await startServer("envelope");
      await using resources = new AsyncDisposableStack();
      const dispatcher = resources.adopt(new Agent({ connections: CONNECTIONS }), (agent) => agent.close());
      const { url } = server.ready;
      const headers = { "content-type": "application/json", accept: "application/json", ...bare.headers };
      const callBare = async (): Promise<unknown> => {
        const body = JSON.stringify(bare.body);
        const options = { method: "POST", headers, body, dispatcher } as const;
        const answer = await request(`${url}${bare.query ?? ""}`, options);
        return JSON.parse(await answer.body.text()) as unknown;
      };
      const measurement = await compare(context, {
        what: `${what}, ${callsAtOnce} at once (rate)`,
        against: `undici request over ${CONNECTIONS} connections, and JSON.parse`,
        target: { atLeast: 0.85 },
        combine: rateOfTimes,
        ours: timeCalls(prepare(url)),
        bare: timeCalls(callBare),
        rounds: 101,
        warmUpRounds: 20,
      });
      return [measurement];
    },
  };
}
