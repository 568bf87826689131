import { startServer, type Child } from "../child.ts";
import { HOSTILE_BODIES } from "../hostile-bodies.ts";
import { sendDeliveries, type LoadResult } from "../load.ts";
import { compare, ratio, summarize, takeTurns, type Row } from "../measure.ts";
import type { ServerReport } from "../settings.ts";

const CONNECTIONS = 50;

/** What the responder costs over the least that a receiver must do. */
export const responderRow: Row = {
  name: "responder",
  title: "The responder on Node against bare node:http: about 40 seconds",
  measure: async (context) => {
    const [ours, bare] = await Promise.all([startServer("responder"), startServer("bare")]);
    try {
      const send = (server: Child<ServerReport>) => (): Promise<LoadResult> =>
        sendDeliveries(server.ready.url, {
          count: 10_000,
          connections: CONNECTIONS,
          signal: context.signal,
        });
      const turns = await takeTurns(context, {
        ours: send(ours),
        bare: send(bare),
        rounds: 15,
        warmUpRounds: 2,
      });
      const samplesOf = (key: keyof LoadResult) => ({
        ours: turns.ours.map((turn) => turn[key]),
        bare: turns.bare.map((turn) => turn[key]),
      });
      const what = `responder, 1 KiB, ${CONNECTIONS} connections`;
      const shared = { against: "bare node:http that reads the body and checks the HMAC", combine: ratio };
      const rate = { ...shared, what: `${what} (rate)`, target: { atLeast: 0.7 } };
      const p99 = { ...shared, what: `${what} (p99)`, target: { atMost: 1.5 } };
      return [summarize(rate, samplesOf("ratePerSecond")), summarize(p99, samplesOf("p99Ms"))];
    } finally {
      await Promise.all([ours.stop(), bare.stop()]);
    }
  },
};

const FEW = 10_000;
const MANY = 200_000;

/** Whether the responder keeps anything of the deliveries that it has answered. */
export const heapRow: Row = {
  name: "heap",
  title: `The responder's heap after ${MANY} deliveries: about 30 seconds`,
  measure: async ({ signal, update }) => {
    const server = await startServer("responder", [], { execArgv: ["--expose-gc"] });
    try {
      const heapAfter = async (from: number, to: number): Promise<number> => {
        for (let sent = from; sent < to; sent += FEW) {
          update(`${sent} of ${MANY}`);
          await sendDeliveries(server.ready.url, { count: FEW, connections: CONNECTIONS, signal });
        }
        return (await server.ask()).heapBytes;
      };
      const few = await heapAfter(0, FEW);
      const claim = {
        what: `heap after ${MANY} deliveries (bytes after collection)`,
        against: `after ${FEW}`,
        target: { atMost: 1.1 },
        combine: ratio,
      };
      return [summarize(claim, { ours: [await heapAfter(FEW, MANY)], bare: [few] })];
    } finally {
      await server.stop();
    }
  },
};

const REQUESTS_PER_TURN = 20;
/** Well written and of no key, so that the whole body is hashed before it is refused. */
const WRONG_SIGNATURE = `sha256=${"0".repeat(64)}`;

/** What a sender without a key can make the responder compute. */
export const refusedBodiesRow: Row = {
  name: "refused",
  title: "Refused bodies of 1 MiB against reading them: about 15 seconds",
  measure: async ({ signal, update }) => {
    const [ours, reader] = await Promise.all([startServer("responder"), startServer("reader")]);
    try {
      const shapes = Object.entries(HOSTILE_BODIES);
      const claim = {
        what: `a refused body of 1 MiB, the worst of ${shapes.length} shapes (CPU)`,
        against: "bare node:http that reads it",
        target: { atMost: 3 },
        combine: ratio,
      };
      const measurements = [];
      for (const [shape, body] of shapes) {
        const sides = { ours: () => cpuOf(ours, body), bare: () => cpuOf(reader, body) };
        const context = { signal, update: (detail: string) => update(`${shape}, ${detail}`) };
        measurements.push(await compare(context, claim, { ...sides, rounds: 9, warmUpRounds: 1 }));
      }
      return measurements.toSorted((one, other) => other.value - one.value).slice(0, 1);
    } finally {
      await Promise.all([ours.stop(), reader.stop()]);
    }
  },
};

/** What a server computes for some requests with this body, in milliseconds. */
async function cpuOf(server: Child<ServerReport>, body: string): Promise<number> {
  const { cpuMs } = await server.ask();
  for (let count = 0; count < REQUESTS_PER_TURN; count += 1) {
    const headers = { "x-hub-signature-256": WRONG_SIGNATURE };
    const response = await fetch(server.ready.url, { method: "POST", headers, body });
    await response.arrayBuffer();
    if (response.status !== 401) throw new Error(`a hostile body was answered with ${response.status}`);
  }
  return (await server.ask()).cpuMs - cpuMs;
}
