import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import { signBody, verifySignature } from "pulumi-apichat/responder";
import type { Measurement, Row, RowContext } from "./measurement.ts";
import { VERIFICATION_KEY } from "./settings.ts";
import { alternate, median, pairwise, timeOf } from "./statistics.ts";

const SIZES = [
  { title: "1 KiB", bytes: 1024, calls: 2_000 },
  { title: "64 KiB", bytes: 64 * 1024, calls: 100 },
] as const;
/** Many short turns: whatever else the machine does strikes few of them, and the median leaves those out. */
const ROUNDS = 301;
const WARM_UP_ROUNDS = 50;

/** What `verifySignature` costs over the two functions of Node that it is built on. */
export const signatureRow: Row = {
  name: "signature",
  title: "verifySignature against node:crypto: about 10 seconds",
  measure: async (context) => {
    const measurements: Measurement[] = [];
    for (const size of SIZES) measurements.push(await measureSize(size, context));
    return measurements;
  },
};

async function measureSize(
  { title, bytes, calls }: (typeof SIZES)[number],
  { signal, update }: RowContext,
): Promise<Measurement> {
  const body = randomBytes(bytes);
  const signature = await signBody(VERIFICATION_KEY, body);
  const sides = {
    ours: () =>
      timeOf(async () => {
        const options = { verificationKeys: VERIFICATION_KEY, body, signature };
        for (let call = 0; call < calls; call += 1) requireTrue(await verifySignature(options));
      }),
    bare: () =>
      timeOf(() => {
        for (let call = 0; call < calls; call += 1) requireTrue(verifyBare(body, signature));
      }),
  };
  await alternate(sides, { rounds: WARM_UP_ROUNDS, signal });
  const samples = await alternate(sides, {
    rounds: ROUNDS,
    signal,
    onTurn: (_side, round) => update(`${title}, round ${round} of ${ROUNDS}`),
  });
  const rounds = pairwise(samples.bare, samples.ours, (bare, ours) => bare / ours);
  return {
    what: `verifySignature, ${title} (rate)`,
    against: "createHmac and timingSafeEqual",
    value: median(rounds),
    unit: "ratio",
    target: { atLeast: 0.9 },
    rounds,
    samples,
  };
}

function requireTrue(isGood: boolean): void {
  if (!isGood) throw new Error("a good signature was not verified");
}

function verifyBare(body: Buffer, signature: string): boolean {
  const expected = `sha256=${createHmac("sha256", VERIFICATION_KEY).update(body).digest("hex")}`;
  return timingSafeEqual(Buffer.from(expected), Buffer.from(signature));
}
