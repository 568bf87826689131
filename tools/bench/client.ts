import { Agent, request } from "undici";
import { RegistrationClient } from "pulumi-apichat/client";
import { startChild } from "./child.ts";
import type { Measurement, Row, RowContext } from "./measurement.ts";
import { API_KEY } from "./settings.ts";
import { alternate, median, pairwise, timeOf } from "./statistics.ts";

const CALLS_AT_ONCE = 8;
const CALLS_PER_TURN = 800;
/** Many short turns: whatever else the machine does strikes few of them, and the median leaves those out. */
const ROUNDS = 101;
const WARM_UP_ROUNDS = 20;

/** What `RegistrationClient` costs over the HTTP client that it is built on. */
export const clientRow: Row = {
  name: "client",
  title: "RegistrationClient.getWebhook against bare undici: about 15 seconds",
  measure: measureClient,
};

async function measureClient({ signal, update }: RowContext): Promise<Measurement[]> {
  const server = await startChild<string>(new URL("answer-server.ts", import.meta.url));
  const dispatcher = new Agent({ connections: CALLS_AT_ONCE });
  try {
    const client = new RegistrationClient({ baseUrl: server.ready, apiKey: API_KEY });
    const sides = {
      ours: () => timeOf(() => callOften(() => client.getWebhook())),
      bare: () => timeOf(() => callOften(() => getBare(server.ready, dispatcher))),
    };
    await alternate(sides, { rounds: WARM_UP_ROUNDS, signal });
    const samples = await alternate(sides, {
      rounds: ROUNDS,
      signal,
      onTurn: (_side, round) => update(`round ${round} of ${ROUNDS}`),
    });
    const rounds = pairwise(samples.bare, samples.ours, (bare, ours) => bare / ours);
    return [
      {
        what: `RegistrationClient.getWebhook, ${CALLS_AT_ONCE} at once (rate)`,
        against: "undici request and JSON.parse",
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

async function callOften(call: () => Promise<unknown>): Promise<void> {
  let left = CALLS_PER_TURN;
  const callInTurn = async (): Promise<void> => {
    while (left > 0) {
      left -= 1;
      await call();
    }
  };
  await Promise.all(Array.from({ length: CALLS_AT_ONCE }, callInTurn));
}

async function getBare(baseUrl: string, dispatcher: Agent): Promise<unknown> {
  const { body } = await request(`${baseUrl}?action=get-webhook`, {
    method: "POST",
    headers: { "content-type": "application/json", accept: "application/json" },
    body: JSON.stringify({ ChaveApi: API_KEY }),
    dispatcher,
  });
  return JSON.parse(await body.text()) as unknown;
}
