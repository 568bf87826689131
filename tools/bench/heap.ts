import { startChild } from "./child.ts";
import { sendDeliveries } from "./load.ts";
import type { Measurement, Row, RowContext } from "./measurement.ts";
import type { ServerReport } from "./servers/listening.ts";

const CONNECTIONS = 50;
const FEW = 10_000;
const MANY = 200_000;
const STEP = 10_000;

/** Whether the responder keeps anything of the deliveries that it has answered. */
export const heapRow: Row = {
  name: "heap",
  title: `The responder's heap after ${MANY} deliveries: about 30 seconds`,
  measure: measureHeap,
};

async function measureHeap({ signal, update }: RowContext): Promise<Measurement[]> {
  const server = await startChild<ServerReport>(new URL("servers/responder.ts", import.meta.url), [], {
    execArgv: ["--expose-gc"],
  });
  try {
    const heapBytes: number[] = [];
    for (let sent = STEP; sent <= MANY; sent += STEP) {
      update(`${sent} of ${MANY}`);
      await sendDeliveries(server.ready.url, { count: STEP, connections: CONNECTIONS, signal });
      if (sent === FEW || sent === MANY) heapBytes.push((await server.ask()).heapBytes);
    }
    const [few = Number.NaN, many = Number.NaN] = heapBytes;
    return [
      {
        what: `heap after ${MANY} deliveries (bytes after collection)`,
        against: `after ${FEW}`,
        value: many / few,
        unit: "ratio",
        target: { atMost: 1.1 },
        rounds: [many / few],
        samples: { few: [few], many: [many] },
      },
    ];
  } finally {
    await server.stop();
  }
}
