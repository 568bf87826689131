/** What single functions cost. */
import { build } from "esbuild";
import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { signBody, verifySignature } from "pulumi-apichat/responder";
import { VERIFICATION_KEY } from "./child.ts";
import { rates, type Context, type Samples } from "./measure.ts";

/** `verifySignature` and the two functions of Node that it is built on, with a body of each size. */
export async function verifySignatures(context: Context): Promise<Samples> {
  const sides: Record<string, () => Promise<void> | void> = {};
  for (const kibibytes of [1, 64]) {
    const body = randomBytes(kibibytes * 1024);
    const signature = await signBody(VERIFICATION_KEY, body);
    const options = { verificationKeys: VERIFICATION_KEY, body, signature };
    sides[`ours${kibibytes}`] = async () => requireTrue(await verifySignature(options));
    sides[`bare${kibibytes}`] = () => requireTrue(verifyBare(body, signature));
  }
  return await rates(context, sides, { rounds: 51, warmUp: 5 });
}

function requireTrue(isGood: boolean): void {
  if (!isGood) throw new Error("a good signature was not verified");
}

function verifyBare(body: Buffer, signature: string): boolean {
  const expected = `sha256=${createHmac("sha256", VERIFICATION_KEY).update(body).digest("hex")}`;
  return timingSafeEqual(Buffer.from(expected), Buffer.from(signature));
}

/** The smallest Worker that receives deliveries. */
const WORKER = `import { createResponder } from "pulumi-apichat/responder";
export default {
  fetch: (request, env, context) =>
    createResponder({ verificationKeys: env.VERIFICATION_KEY, onDelivery() {} })(request, env, context),
};
`;

/** The size of a minified Worker with the responder, in bytes. */
export async function bundleWorker(): Promise<Samples> {
  const resolveDir = fileURLToPath(new URL("../..", import.meta.url));
  const { outputFiles } = await build({
    stdin: { contents: WORKER, resolveDir, sourcefile: "worker.js" },
    ...({ bundle: true, minify: true, write: false, format: "esm", target: "es2024" } as const),
    platform: "neutral",
    mainFields: ["module", "main"],
  });
  return { ours: [gzipSync(outputFiles[0]?.contents ?? "", { level: 9 }).length] };
}
