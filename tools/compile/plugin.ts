import { chmod, copyFile, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build, type BuildOptions, type Plugin } from "esbuild";
import packageJson from "../../package.json" with { type: "json" };
import { billOf, componentOf, licencesOf, packagesIn } from "./bundled.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const sources = join(root, "dist", "provider", "plugin");

/** What the engine looks for in the folder of a plugin; on Windows with ".cmd" behind it. */
const EXECUTABLE = "pulumi-resource-apichat";

/** What `pulumi install` and `pulumi package add` look for in a folder: engine 3.259 takes the plugin's name there as empty. */
const NAMELESS = "pulumi-resource-";

const OPTIONS = {
  absWorkingDir: root,
  bundle: true,
  // Names stay: errors are known by them. With keepNames every function would cost a call at the start.
  minifySyntax: true,
  minifyWhitespace: true,
  // Not a module: an executable without an extension must run on every Node.
  format: "cjs",
  platform: "node",
  legalComments: "none",
  logLevel: "warning",
  // Where the package's own files lie; the plugin asks for none of them.
  logOverride: { "empty-import-meta": "silent" },
} satisfies BuildOptions;

/**
 * What the plugin uses of undici. All of it, with `fetch`, web sockets, caches and mocks, takes a third of what a start computes.
 */
const UNDICI = `
import api from "undici/lib/api/index.js";
import Agent from "undici/lib/dispatcher/agent.js";
import Client from "undici/lib/dispatcher/client.js";
import Dispatcher from "undici/lib/dispatcher/dispatcher.js";
import EnvHttpProxyAgent from "undici/lib/dispatcher/env-http-proxy-agent.js";
import errors from "undici/lib/core/errors.js";
Object.assign(Dispatcher.prototype, api);
export { Agent, Client, EnvHttpProxyAgent, errors };
`;

/** A name that is not in it fails the build. */
const lightUndici: Plugin = {
  name: "light-undici",
  setup: (bundler) => {
    bundler.onResolve({ filter: /^undici$/ }, () => ({ path: "undici", namespace: "light" }));
    bundler.onLoad({ filter: /^/, namespace: "light" }, () => ({ contents: UNDICI, resolveDir: root }));
  },
};

/** Bundles the resource plugin from dist/ into a folder that needs Node only. */
export async function bundlePlugin(outFolder: string): Promise<void> {
  await mkdir(outFolder, { recursive: true });
  const [{ metafile }] = await Promise.all([
    build({
      ...OPTIONS,
      entryPoints: [join(sources, "main.js")],
      outfile: join(outFolder, "main.js"),
      target: "node22.19",
      plugins: [lightUndici],
      metafile: true,
    }),
    // An old Node must be able to read the file that says that it is too old.
    build({
      ...OPTIONS,
      entryPoints: [join(sources, "launch.js")],
      outfile: join(outFolder, EXECUTABLE),
      external: ["./main.js"],
      target: "node10",
    }),
  ]);
  await chmod(join(outFolder, EXECUTABLE), 0o755);
  const packages = await packagesIn(metafile, root);
  await Promise.all([
    copyFile(join(outFolder, EXECUTABLE), join(outFolder, NAMELESS)),
    writeFile(join(outFolder, `${EXECUTABLE}.cmd`), `@node "%~dp0${EXECUTABLE}" %*\r\n`),
    writeFile(join(outFolder, "package.json"), '{ "type": "commonjs" }\n'),
    writeFile(join(outFolder, "licenses.txt"), licencesOf(packages)),
    writeFile(
      join(outFolder, "sbom.cdx.json"),
      billOf(EXECUTABLE, packageJson.version, packages.map(componentOf)),
    ),
  ]);
}
