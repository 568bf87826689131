import { startChild, type Child } from "./child.ts";
import { sendDeliveries, type LoadResult } from "./load.ts";
import type { Measurement, Row, RowContext } from "./measurement.ts";
import type { ServerReport } from "./servers/listening.ts";
import { alternate, median, pairwise } from "./statistics.ts";

const CONNECTIONS = 50;
const DELIVERIES_PER_TURN = 10_000;
const ROUNDS = 15;
const AGAINST = "bare node:http that reads the body and checks the HMAC";

/** What the responder costs over the least that a receiver must do. */
export const responderRow: Row = {
  name: "responder",
  title: "The responder on Node against bare node:http: about 40 seconds",
  measure: measureResponder,
};

async function measureResponder({ signal, update }: RowContext): Promise<Measurement[]> {
  const servers = await startServers();
  try {
    const send = (server: Child<ServerReport>) => (): Promise<LoadResult> =>
      sendDeliveries(server.ready.url, { count: DELIVERIES_PER_TURN, connections: CONNECTIONS, signal });
    const sides = { ours: send(servers.ours), bare: send(servers.bare) };
    await alternate(sides, { rounds: 2, signal });
    const samples = await alternate(sides, {
      rounds: ROUNDS,
      signal,
      onTurn: (_side, round) => update(`round ${round} of ${ROUNDS}`),
    });
    return toMeasurements(samples);
  } finally {
    await Promise.all([servers.ours.stop(), servers.bare.stop()]);
  }
}

async function startServers(): Promise<Record<"ours" | "bare", Child<ServerReport>>> {
  const [ours, bare] = await Promise.all([
    startChild<ServerReport>(new URL("servers/responder.ts", import.meta.url)),
    startChild<ServerReport>(new URL("servers/bare.ts", import.meta.url)),
  ]);
  return { ours, bare };
}

function toMeasurements(samples: Record<"ours" | "bare", LoadResult[]>): Measurement[] {
  const compare = (key: keyof LoadResult): Pick<Measurement, "value" | "rounds" | "samples"> => {
    const ours = samples.ours.map((result) => result[key]);
    const bare = samples.bare.map((result) => result[key]);
    const rounds = pairwise(ours, bare, divide);
    return { value: median(rounds), rounds, samples: { ours, bare } };
  };
  const what = `responder, 1 KiB, ${CONNECTIONS} connections`;
  const shared = { against: AGAINST, unit: "ratio" } as const;
  return [
    { what: `${what} (rate)`, ...shared, target: { atLeast: 0.7 }, ...compare("ratePerSecond") },
    { what: `${what} (p99)`, ...shared, target: { atMost: 1.5 }, ...compare("p99Ms") },
  ];
}

const divide = (ours: number, bare: number): number => ours / bare;
