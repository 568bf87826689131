import { connect, type Socket } from "node:net";
import { sendDeliveries } from "./load.ts";
import type { Measurement, Row, RowContext } from "./measurement.ts";
import { startResponderProgram } from "./responder-program.ts";
import { median } from "./statistics.ts";

const SLOW_CONNECTIONS = 1_000;
const BYTE_EVERY_MS = 1_000;
/** The program's own limits must have ended every slow connection by then. */
const ENDED_WITHIN_MS = 90_000;
const DELIVERIES_PER_TURN = 2_000;
const CONNECTIONS = 10;
const ROUNDS = 5;

/** Whether senders that are slow on purpose hold up the others, and whether they are ended. */
export const slowConnectionsRow: Row = {
  name: "slow",
  title: `${SLOW_CONNECTIONS} slow connections: about 80 seconds`,
  measure: measureSlowConnections,
};

async function measureSlowConnections({ signal, update }: RowContext): Promise<Measurement[]> {
  const program = await startResponderProgram(signal);
  const slow: SlowConnection[] = [];
  try {
    const measureP99 = async (): Promise<number> => {
      const load = { count: DELIVERIES_PER_TURN, connections: CONNECTIONS, signal };
      return (await sendDeliveries(program.url, load)).p99Ms;
    };
    await measureP99();
    const alone = await repeat(measureP99);
    update("opening the slow connections");
    for (let index = 0; index < SLOW_CONNECTIONS; index += 1) slow.push(openSlowly(program.url, index));
    await Promise.all(slow.map(({ opened }) => opened));
    const beside = await repeat(measureP99);
    const stillOpen = slow.filter(({ socket }) => !socket.closed).length;
    if (stillOpen < SLOW_CONNECTIONS) {
      throw new Error(`only ${stillOpen} slow connections were open during the measurement`);
    }
    update("waiting until the program has ended the slow connections");
    await waitForEnds(slow, signal);
    const rounds = beside.map((value) => value / median(alone));
    return [
      {
        what: `p99 of a delivery beside ${SLOW_CONNECTIONS} slow connections, which are ended`,
        against: "without them",
        value: median(rounds),
        unit: "ratio",
        target: { atMost: 2 },
        rounds,
        samples: { beside, alone },
      },
    ];
  } finally {
    for (const { socket } of slow) socket.destroy();
    await program.stop();
  }
}

interface SlowConnection {
  socket: Socket;
  opened: Promise<void>;
  ended: Promise<void>;
}

/** Half of them send headers without end, the others a body: one byte a second. */
function openSlowly(url: string, index: number): SlowConnection {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  const isBody = index % 2 === 1;
  const head = "POST / HTTP/1.1\r\nhost: localhost\r\n";
  socket.write(isBody ? `${head}content-length: 1024\r\n\r\n` : `${head}x-slow: `);
  const timer = setInterval(() => socket.write("x"), BYTE_EVERY_MS);
  socket.resume();
  // A reset is an end too.
  socket.on("error", () => socket.destroy());
  const ended = new Promise<void>((resolve) => {
    socket.once("close", () => {
      clearInterval(timer);
      resolve();
    });
  });
  const opened = new Promise<void>((resolve) => socket.once("connect", () => resolve()));
  return { socket, opened: Promise.race([opened, ended]), ended };
}

async function repeat(measure: () => Promise<number>): Promise<number[]> {
  const values: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) values.push(await measure());
  return values;
}

async function waitForEnds(slow: readonly SlowConnection[], signal: AbortSignal): Promise<void> {
  const limit = AbortSignal.timeout(ENDED_WITHIN_MS);
  const stopped = new Promise<never>((_, reject) => {
    const late = new Error(`slow connections were still open after ${ENDED_WITHIN_MS / 1000} s`);
    limit.addEventListener("abort", () => reject(late));
    signal.addEventListener("abort", () => reject(signal.reason as Error));
  });
  await Promise.race([Promise.all(slow.map(({ ended }) => ended)), stopped]);
}
