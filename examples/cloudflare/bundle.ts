import { buildSync } from "esbuild";

/**
 * Bundles the Worker into one ES module. With the platform "neutral", the package uses WebCrypto, so the Worker needs
 * no `nodejs_compat`.
 */
export function bundleWorker(): string {
  const { outputFiles } = buildSync({
    absWorkingDir: __dirname,
    entryPoints: ["worker/index.ts"],
    bundle: true,
    platform: "neutral",
    format: "esm",
    target: "es2024",
    minify: true,
    write: false,
  });
  return outputFiles.map(({ text }) => text).join("");
}
