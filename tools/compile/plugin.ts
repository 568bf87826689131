import { chmod, copyFile, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { build, type BuildOptions, type Metafile, type Plugin } from "esbuild";
import { clone } from "../lib/clone.ts";
import { writePapers } from "./bundled.ts";

/** The file in a plugin's folder that the engine starts. On Windows, the engine appends ".cmd" to this name. */
const EXECUTABLE = "pulumi-resource-apichat";

/**
 * The file that `pulumi install` and `pulumi package add` start instead, because in these commands
 * engine 3.259 looks for a plugin with an empty name.
 */
const NAMELESS = "pulumi-resource-";

const OPTIONS = {
  bundle: true,
  // Names are not minified, because the code identifies errors by their class names. (esbuild's keepNames
  // would preserve those, but adds a call for each function at start-up.)
  minifySyntax: true,
  minifyWhitespace: true,
  // CommonJS, because every Node can run it from a file without an extension.
  format: "cjs",
  platform: "node",
  legalComments: "none",
  logLevel: "warning",
} satisfies BuildOptions;

/**
 * The parts of undici that the plugin and the command line use. Loading all of undici (`fetch`, web sockets,
 * caches, mocks) takes a third of the CPU time of a start.
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

/** The file name, without extension, of the worker thread that a program starts. It must be beside the program. */
export const THREAD = "spool-worker";

/** Replaces undici with the parts in `UNDICI`. The build fails if the code imports any other part. */
const lightUndici: Plugin = {
  name: "light-undici",
  setup: (bundler) => {
    const resolveDir = bundler.initialOptions.absWorkingDir ?? "";
    bundler.onResolve({ filter: /^undici$/ }, () => ({ path: "undici", namespace: "light" }));
    bundler.onLoad({ filter: /^/, namespace: "light" }, () => ({ contents: UNDICI, resolveDir }));
  },
};

/** Bundles a program in a checkout's `dist/` into one file, and its worker thread into another. */
async function bundleProgram(
  source: string,
  program: string,
  outFolder: string,
  name: string,
): Promise<Metafile> {
  const inDist = (path: string): string => join(source, "dist/provider", path);
  const { metafile } = await build({
    ...OPTIONS,
    absWorkingDir: source,
    entryPoints: { [name]: inDist(program), [THREAD]: inDist(`server/spool/${THREAD}.js`) },
    outdir: outFolder,
    target: "node22.19",
    plugins: [lightUndici],
    metafile: true,
    define: { "import.meta.url": "bundleUrl" },
    banner: { js: 'const bundleUrl = require("node:url").pathToFileURL(__filename).href;' },
  });
  return metafile;
}

/** Bundles the command line in a checkout's `dist/` into the file `apichat.js` in a folder. */
export async function bundleCommandLine(source: string, outFolder: string): Promise<void> {
  const metafile = await bundleProgram(source, "cli/archive.js", outFolder, "apichat");
  await writePapers(outFolder, "apichat", metafile, source);
}

/** Bundles the resource plugin from `dist/` into a folder that needs only Node. */
export async function bundlePlugin(outFolder: string): Promise<void> {
  await mkdir(outFolder, { recursive: true });
  const [metafile] = await Promise.all([
    bundleProgram(clone, "plugin/main.js", outFolder, "main"),
    // This file must parse on an old Node, because it reports that Node is too old.
    build({
      ...OPTIONS,
      entryPoints: [join(clone, "dist/provider/plugin/launch.js")],
      outfile: join(outFolder, EXECUTABLE),
      external: ["./main.js"],
      target: "node10",
    }),
  ]);
  await chmod(join(outFolder, EXECUTABLE), 0o755);
  await Promise.all([
    writePapers(outFolder, EXECUTABLE, metafile, clone),
    copyFile(join(outFolder, EXECUTABLE), join(outFolder, NAMELESS)),
    writeFile(join(outFolder, `${EXECUTABLE}.cmd`), `@node "%~dp0${EXECUTABLE}" %*\r\n`),
    writeFile(join(outFolder, "package.json"), '{ "type": "commonjs" }\n'),
  ]);
}
