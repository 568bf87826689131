import { startChild, type Child } from "./child.ts";
import { HOSTILE_BODIES } from "./hostile-bodies.ts";
import type { Measurement, Row, RowContext } from "./measurement.ts";
import type { ServerReport } from "./servers/listening.ts";
import { alternate, median, pairwise } from "./statistics.ts";

const REQUESTS_PER_TURN = 20;
const ROUNDS = 9;
/** Well written and of no key, so that the whole body is hashed before it is refused. */
const WRONG_SIGNATURE = `sha256=${"0".repeat(64)}`;

/** What a sender without a key can make the responder compute. */
export const refusedBodiesRow: Row = {
  name: "refused",
  title: "Refused bodies of 1 MiB against reading them: about 15 seconds",
  measure: measureRefusedBodies,
};

async function measureRefusedBodies({ signal, update }: RowContext): Promise<Measurement[]> {
  const [ours, reading] = await Promise.all([
    startChild<ServerReport>(new URL("servers/responder.ts", import.meta.url)),
    startChild<ServerReport>(new URL("servers/bare-reader.ts", import.meta.url)),
  ]);
  try {
    const shapes: Pick<Measurement, "value" | "rounds" | "samples">[] = [];
    for (const [shape, body] of Object.entries(HOSTILE_BODIES)) {
      update(shape);
      const sides = { ours: () => cpuOf(ours, body), reading: () => cpuOf(reading, body) };
      await alternate(sides, { rounds: 1, signal });
      const samples = await alternate(sides, { rounds: ROUNDS, signal });
      const rounds = pairwise(samples.ours, samples.reading, (one, other) => one / other);
      shapes.push({ value: median(rounds), rounds, samples });
    }
    const [worst] = shapes.toSorted((one, other) => other.value - one.value);
    if (worst === undefined) throw new Error("no body was measured");
    return [
      {
        what: `a refused body of 1 MiB, the worst of ${shapes.length} shapes (CPU)`,
        against: "bare node:http that reads it",
        unit: "ratio",
        target: { atMost: 3 },
        ...worst,
      },
    ];
  } finally {
    await Promise.all([ours.stop(), reading.stop()]);
  }
}

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
