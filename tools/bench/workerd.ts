import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { convertV4MiniflareOptions, Miniflare } from "miniflare";
import type { Measurement, Row, RowContext } from "./measurement.ts";
import { alternate, median, pairwise, timeOf } from "./statistics.ts";

const CALLS_PER_TURN = 2_000;
const ROUNDS = 101;
const WARM_UP_ROUNDS = 10;

/** What `verifySignature` costs in the Workers runtime. Timed from outside: its own clock stands still while it computes. */
export const workerdRow: Row = {
  name: "workerd",
  title: "verifySignature in workerd against WebCrypto: about 20 seconds",
  measure: measureWorkerd,
};

async function measureWorkerd({ signal, update }: RowContext): Promise<Measurement[]> {
  const worker = await startWorker();
  try {
    const url = await worker.ready;
    const callOften = (path: string) => (): Promise<number> =>
      timeOf(async () => {
        const answer = await fetch(new URL(`${path}?calls=${CALLS_PER_TURN}`, url), { signal });
        const text = await answer.text();
        if (!answer.ok) throw new Error(`the Worker answered ${answer.status}: ${text.slice(0, 200)}`);
      });
    const sides = { ours: callOften("/ours"), bare: callOften("/bare") };
    await alternate(sides, { rounds: WARM_UP_ROUNDS, signal });
    const samples = await alternate(sides, {
      rounds: ROUNDS,
      signal,
      onTurn: (_side, round) => update(`round ${round} of ${ROUNDS}`),
    });
    const rounds = pairwise(samples.bare, samples.ours, (bare, ours) => bare / ours);
    return [
      {
        what: "verifySignature in workerd, 1 KiB (rate)",
        against: "WebCrypto verify with an imported key",
        value: median(rounds),
        unit: "ratio",
        target: { atLeast: 0.85 },
        rounds,
        samples,
      },
    ];
  } finally {
    await worker.dispose();
  }
}

async function startWorker(): Promise<Miniflare> {
  const entry = fileURLToPath(new URL("servers/worker-signature.mjs", import.meta.url));
  const { outputFiles } = await build({
    entryPoints: [entry],
    bundle: true,
    minify: true,
    format: "esm",
    platform: "neutral",
    mainFields: ["module", "main"],
    write: false,
  });
  const contents = outputFiles[0]?.text ?? "";
  const modules = [{ type: "ESModule" as const, path: "worker.mjs", contents }];
  return new Miniflare(convertV4MiniflareOptions({ modules, compatibilityDate: "2026-11-01" }));
}
