import { join } from "node:path";
import { startChild } from "./child.ts";
import { sendDeliveries } from "./load.ts";
import type { Measurement, Row, RowContext } from "./measurement.ts";
import { startResponderProgram } from "./responder-program.ts";
import type { ServerReport } from "./servers/listening.ts";
import { alternate, median, pairwise } from "./statistics.ts";

const CONNECTIONS = 50;
const DELIVERIES_PER_TURN = 5_000;
const ROUNDS = 9;

/** What shared commits gain: the whole program with its spool against one commit a request. */
export const spoolRow: Row = {
  name: "spool",
  title: "apichat responder with its spool against one commit a request: about 30 seconds",
  measure: measureSpool,
};

async function measureSpool({ signal, update }: RowContext): Promise<Measurement[]> {
  const ours = await startResponderProgram(signal);
  const bare = await startChild<ServerReport>(new URL("servers/bare-sqlite.ts", import.meta.url), [
    // Beside the other spool, so that both are on the same disk.
    join(ours.folder, "bare.sqlite"),
  ]);
  try {
    const send = (url: string) => async (): Promise<number> => {
      const load = { count: DELIVERIES_PER_TURN, connections: CONNECTIONS, signal };
      return (await sendDeliveries(url, load)).ratePerSecond;
    };
    const sides = { ours: send(ours.url), bare: send(bare.ready.url) };
    await alternate(sides, { rounds: 1, signal });
    const samples = await alternate(sides, {
      rounds: ROUNDS,
      signal,
      onTurn: (_side, round) => update(`round ${round} of ${ROUNDS}`),
    });
    const rounds = pairwise(samples.ours, samples.bare, (one, other) => one / other);
    return [
      {
        what: `apichat responder with spool, 1 KiB, ${CONNECTIONS} connections (rate)`,
        against: "node:http and node:sqlite, one commit a request",
        value: median(rounds),
        unit: "ratio",
        target: { atLeast: 2 },
        rounds,
        samples,
      },
    ];
  } finally {
    await bare.stop();
    await ours.stop();
  }
}
