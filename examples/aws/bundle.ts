import { join } from "node:path";
import * as pulumi from "@pulumi/pulumi";
import { buildSync } from "esbuild";

/**
 * Bundles a handler's source file into `index.cjs`. The AWS SDK is not bundled, because Lambda's Node.js runtime
 * contains it. The bundle is CommonJS, because ES modules do not find that copy of the SDK.
 */
export function bundleHandler(path: string): pulumi.asset.Archive {
  return new pulumi.asset.AssetArchive({ "index.cjs": new pulumi.asset.StringAsset(bundle(path)) });
}

/** The text of the bundle. The same sources produce the same text, so an unchanged handler causes no update. */
export function bundle(path: string): string {
  const { outputFiles } = buildSync({
    absWorkingDir: __dirname,
    entryPoints: [join(__dirname, path)],
    bundle: true,
    write: false,
    platform: "node",
    target: "node24",
    format: "cjs",
    external: ["@aws-sdk/*"],
  });
  return outputFiles.map(({ text }) => text).join("");
}
