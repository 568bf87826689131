import { startServer, type Child, type ServerReport } from "../child.ts";
import { sendDeliveries, type LoadResult } from "../load.ts";
import { alternate, compare, ratio, summarize, type Row } from "../measure.ts";

const CONNECTIONS = 50;

/** What the responder costs over the least that a receiver must do. */
const responderRow: Row = {
  name: "responder",
  title: "The responder on Node against bare node:http: about 40 seconds",
  measure: async (context) => {
    await using ours = await startServer("responder");
    await using bare = await startServer("bare");
    const load = { count: 10_000, connections: CONNECTIONS, signal: context.signal };
    const send =
      ({ ready }: Child<ServerReport>) =>
      (): Promise<LoadResult> =>
        sendDeliveries(ready.url, load);
    const turns = await alternate(
      context,
      { ours: send(ours), bare: send(bare) },
      { rounds: 15, warmUpRounds: 2 },
    );
    const samplesOf = (key: keyof LoadResult) => ({
      ours: turns.ours.map((turn) => turn[key]),
      bare: turns.bare.map((turn) => turn[key]),
    });
    const what = `responder, 1 KiB, ${CONNECTIONS} connections`;
    const shared = { against: "bare node:http that reads the body and checks the HMAC", combine: ratio };
    const rate = { ...shared, what: `${what} (rate)`, target: { atLeast: 0.7 } };
    const p99 = { ...shared, what: `${what} (p99)`, target: { atMost: 1.5 } };
    return [summarize(rate, samplesOf("ratePerSecond")), summarize(p99, samplesOf("p99Ms"))];
  },
};

const FEW = 10_000;
const MANY = 200_000;

/** Whether the responder keeps anything of the deliveries that it has answered. */
const heapRow: Row = {
  name: "heap",
  title: `The responder's heap after ${MANY} deliveries: about 30 seconds`,
  measure: async ({ signal, update }) => {
    await using server = await startServer("responder", "", ["--expose-gc"]);
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
  },
};

const MIB = 1024 * 1024;

/** Repeats a text, so that with what stands around it the whole has exactly 1 MiB. */
const fill = (start: string, repeated: string, end = ""): string => {
  const room = MIB - start.length - end.length;
  return start + repeated.repeat(Math.ceil(room / repeated.length)).slice(0, room) + end;
};

/** Bodies of 1 MiB that make a careless reader work: each speaks of a handshake, and none is one. */
export const HOSTILE_BODIES: Record<string, string> = {
  "pairs without =": fill("hub_challenge=c", "&a"),
  "one name again and again": fill("hub_challenge=c", "&hub_challenge=c"),
  "empty pairs": fill("hub_challenge=c", "&"),
  "percent signs": fill("hub_challenge=", "%80%"),
  "nested JSON": fill('{"hub_challenge":', '{"a":'),
  "a number of a million digits": fill('{"hub_challenge":"c","conv_id":', "9", "}"),
  "white space": fill("", " ", '{"hub_challenge":"c"}'),
  "the lines between parts": fill("--b\r\nhub_challenge\r\n", "--b\r\n\r\n"),
};

const REQUESTS_PER_TURN = 20;
/** Well written and of no key, so that the whole body is hashed before it is refused. */
const WRONG_SIGNATURE = `sha256=${"0".repeat(64)}`;

/** What a sender without a key can make the responder compute. */
const refusedBodiesRow: Row = {
  name: "refused",
  title: "Refused bodies of 1 MiB against reading them: about 15 seconds",
  measure: async ({ signal, update }) => {
    await using ours = await startServer("responder");
    await using reader = await startServer("reader");
    const shapes = Object.entries(HOSTILE_BODIES);
    const measurements = [];
    for (const [shape, body] of shapes) {
      const measurement = await compare(
        { signal, update },
        {
          what: `a refused body of 1 MiB, the worst of ${shapes.length} shapes (CPU)`,
          against: "bare node:http that reads it",
          target: { atMost: 3 },
          combine: ratio,
          ours: () => cpuOf(ours, body),
          bare: () => cpuOf(reader, body),
          rounds: 9,
          warmUpRounds: 1,
          detail: `${shape}, `,
        },
      );
      measurements.push(measurement);
    }
    return measurements.toSorted((one, other) => other.value - one.value).slice(0, 1);
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

export const responderRows = [responderRow, heapRow, refusedBodiesRow];
