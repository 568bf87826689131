import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";
import type { Row } from "./measurement.ts";

const repository = fileURLToPath(new URL("../..", import.meta.url));

/** The smallest Worker that receives deliveries: the responder and nothing else. */
const WORKER = `import { createResponder } from "pulumi-apichat/responder";
export default {
  fetch: (request, env, context) =>
    createResponder({ verificationKeys: env.VERIFICATION_KEY, onDelivery() {} })(request, env, context),
};
`;

/** What the responder adds to a Worker. */
export const workerBundleRow: Row = {
  name: "bundle",
  title: "The bundle of a Worker: a moment",
  measure: async () => {
    const bytes = await measureBundle();
    return [
      {
        what: "Worker bundle, the responder alone (minified, gzipped)",
        against: "",
        value: bytes,
        unit: "bytes",
        target: { atMost: 6 * 1024 },
        rounds: [bytes],
        samples: { bytes: [bytes] },
      },
    ];
  },
};

/** Bundles a Worker that is only the responder, as the built package has it, and gives its size, minified and gzipped. */
async function measureBundle(): Promise<number> {
  const { outputFiles } = await build({
    stdin: { contents: WORKER, resolveDir: repository, sourcefile: "worker.js" },
    bundle: true,
    platform: "neutral",
    format: "esm",
    target: "es2024",
    minify: true,
    write: false,
  });
  const bundle = Buffer.concat(outputFiles.map(({ contents }) => contents));
  return gzipSync(bundle, { level: 9 }).length;
}
