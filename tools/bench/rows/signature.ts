import { build } from "esbuild";
import { convertV4MiniflareOptions, Miniflare } from "miniflare";
import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { signBody, verifySignature } from "pulumi-apichat/responder";
import {
  compare,
  measureOnce,
  rateOfTimes,
  timeOf,
  type Measurement,
  type Row,
  type RowContext,
} from "../measure.ts";
import { VERIFICATION_KEY } from "../child.ts";

/** What `verifySignature` costs over the two functions of Node that it is built on. */
const signatureRow: Row = {
  name: "signature",
  title: "verifySignature against node:crypto: about 10 seconds",
  measure: async (context) => [
    await measureSize(context, { title: "1 KiB", bytes: 1024, calls: 2000 }),
    await measureSize(context, { title: "64 KiB", bytes: 64 * 1024, calls: 100 }),
  ],
};

async function measureSize(
  context: RowContext,
  { title, bytes, calls }: { title: string; bytes: number; calls: number },
): Promise<Measurement> {
  const body = randomBytes(bytes);
  const signature = await signBody(VERIFICATION_KEY, body);
  const options = { verificationKeys: VERIFICATION_KEY, body, signature };
  return compare(context, {
    what: `verifySignature, ${title} (rate)`,
    against: "createHmac and timingSafeEqual",
    target: { atLeast: 0.9 },
    combine: rateOfTimes,
    ours: () =>
      timeOf(async () => {
        for (let call = 0; call < calls; call += 1) requireTrue(await verifySignature(options));
      }),
    bare: () =>
      timeOf(() => {
        for (let call = 0; call < calls; call += 1) requireTrue(verifyBare(body, signature));
      }),
    // Many short turns: whatever else the machine does disturbs few of them, and the median leaves those out.
    rounds: 301,
    warmUpRounds: 50,
    detail: `${title}, `,
  });
}

function requireTrue(isGood: boolean): void {
  if (!isGood) throw new Error("a good signature was not verified");
}

function verifyBare(body: Buffer, signature: string): boolean {
  const expected = `sha256=${createHmac("sha256", VERIFICATION_KEY).update(body).digest("hex")}`;
  return timingSafeEqual(Buffer.from(expected), Buffer.from(signature));
}

const CALLS_IN_WORKER = 2000;

/** What `verifySignature` costs in the Workers runtime. Timed from outside: its own clock stands still while it computes. */
const workerdRow: Row = {
  name: "workerd",
  title: "verifySignature in workerd against WebCrypto: about 20 seconds",
  measure: async (context) => {
    const entry = fileURLToPath(new URL("../worker-signature.mjs", import.meta.url));
    const contents = (await bundle({ entryPoints: [entry] })).toString();
    const modules = [{ type: "ESModule" as const, path: "worker.mjs", contents }];
    const worker = new Miniflare(convertV4MiniflareOptions({ modules, compatibilityDate: "2026-11-01" }));
    await using resources = new AsyncDisposableStack();
    resources.defer(() => worker.dispose());
    const url = await worker.ready;
    const callOften = (path: string) => (): Promise<number> =>
      timeOf(async () => {
        const target = new URL(`${path}?calls=${CALLS_IN_WORKER}`, url);
        const answer = await fetch(target, { signal: context.signal });
        const text = await answer.text();
        if (!answer.ok) throw new Error(`the Worker answered ${answer.status}: ${text.slice(0, 200)}`);
      });
    const measurement = await compare(context, {
      what: "verifySignature in workerd, 1 KiB (rate)",
      against: "WebCrypto verify with an imported key",
      target: { atLeast: 0.85 },
      combine: rateOfTimes,
      ours: callOften("/ours"),
      bare: callOften("/bare"),
      rounds: 101,
      warmUpRounds: 10,
    });
    return [measurement];
  },
};

/** The smallest Worker that receives deliveries: the responder and nothing else. */
const WORKER = `import { createResponder } from "pulumi-apichat/responder";
export default {
  fetch: (request, env, context) =>
    createResponder({ verificationKeys: env.VERIFICATION_KEY, onDelivery() {} })(request, env, context),
};
`;

/** What the responder adds to a Worker. */
const workerBundleRow: Row = {
  name: "bundle",
  title: "The bundle of a Worker: a moment",
  measure: async () => {
    const resolveDir = fileURLToPath(new URL("../../..", import.meta.url));
    const code = await bundle({ stdin: { contents: WORKER, resolveDir, sourcefile: "worker.js" } });
    const what = "Worker bundle, the responder alone (minified, gzipped)";
    const value = gzipSync(code, { level: 9 }).length;
    return [measureOnce({ what, value, unit: "bytes", target: { atMost: 6 * 1024 } })];
  },
};

/** The built package and a Worker in one module, minified. */
async function bundle(input: Pick<Parameters<typeof build>[0], "stdin" | "entryPoints">): Promise<Buffer> {
  const { outputFiles } = await build({
    ...input,
    bundle: true,
    platform: "neutral",
    mainFields: ["module", "main"],
    format: "esm",
    target: "es2024",
    minify: true,
    write: false,
  });
  return Buffer.concat(outputFiles.map(({ contents }) => contents));
}

export const signatureRows = [signatureRow, workerdRow, workerBundleRow];
