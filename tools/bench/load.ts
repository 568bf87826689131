/** Measures the responder under load. */
import { flood, sendAll } from "../million/flood.ts";
import { alternate, timeOf, type Context, type Samples } from "./measure.ts";
import { startServer } from "./servers.ts";

const COUNT = 20_000;

/** Compares the responder with a minimal receiver. Measures no rates, because they also depend on the sender. */
export async function compareResponder(context: Context): Promise<Samples> {
  await using ours = startServer("responder");
  await using bare = startServer("bare");
  const send = (server: typeof ours) => async () => {
    const { url, cpuMs } = await server.ask();
    const microseconds = await sendAll(url, COUNT / 2, context);
    return { cpu: (await server.ask()).cpuMs - cpuMs, p99: microseconds.percentile(99) };
  };
  return byKey(await alternate(context, 15, { ours: send(ours), bare: send(bare) }), ["cpu", "p99"]);
}

/** Measures the whole program with its spool: first storing only, then also forwarding to a fast target. */
export async function compareForwarding(context: Context): Promise<Samples> {
  const { signal } = context;
  await using server = startServer("bare");
  const { url } = await server.ask();
  const runs = await alternate<Record<string, unknown>>(context, 5, {
    stored: () => flood(COUNT, { forwards: false, signal }),
    both: () => flood(COUNT, { forwards: true, signal }),
    bare: async () => ({
      accepted: (COUNT * 1000) / (await timeOf(() => sendAll(url, COUNT, context))),
    }),
  });
  return byKey(runs, ["accepted", "forwarded", "through", "blockMs"]);
}

/** Measures the p99 of deliveries with and without reloads of 30,000 other workspaces, in milliseconds. */
export async function reloadUnderLoad(context: Context): Promise<Samples> {
  const options = { forwards: true, signal: context.signal, others: 30_000 };
  const ours = () => flood(COUNT, { ...options, reloadEveryMs: 1_000 });
  return byKey(await alternate(context, 5, { ours, bare: () => flood(COUNT, options) }), ["p99Ms"]);
}

/** Returns the values of each side for each key, under names such as "ours p99Ms". */
const byKey = (runs: Record<string, Record<string, unknown>[]>, keys: readonly string[]): Samples =>
  Object.fromEntries(
    Object.entries(runs).flatMap(([side, results]) =>
      keys.map((key) => [`${side} ${key}`, results.map((result) => Number(result[key]))]),
    ),
  );
