import { gzipSync } from "node:zlib";
import { build } from "esbuild";
import { expect, test } from "vitest";
import { root } from "../support/pages.ts";

/** The smallest Worker that receives deliveries. */
const WORKER = `import { createResponder } from "pulumi-apichat/responder";
export default {
  fetch: (request, env, context) =>
    createResponder({ verificationKeys: env.VERIFICATION_KEY, onDelivery() {} })(request, env, context),
};
`;

test("a Worker with the responder is at most 6 KiB, minified and gzipped", async () => {
  const { outputFiles } = await build({
    stdin: { contents: WORKER, resolveDir: root, sourcefile: "worker.js" },
    ...({ bundle: true, minify: true, write: false, format: "esm", target: "es2024" } as const),
    platform: "neutral",
    mainFields: ["module", "main"],
  });
  const { length } = gzipSync(outputFiles[0]?.contents ?? "", { level: 9 });
  expect(length).toBeGreaterThan(1024);
  expect(length).toBeLessThanOrEqual(6 * 1024);
});
