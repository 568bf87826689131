import { chmod, copyFile } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { CommandError, run } from "../lib/run.ts";
import { buildGoTools, MIN_GO, sourcesOf, type GoTool, type WorkOptions } from "./go-tools.ts";

/** A way to get an engine that is not there yet. */
interface EngineMaker {
  /** As the last error names it. */
  name: string;
  /** What is done, and how long that takes. */
  title: string;
  /** Puts `pulumi` and its hosts into `<folder>/bin`, an empty folder; temporary files go into `<folder>/tmp`. Throws if it cannot. */
  make: (folder: string, options: WorkOptions) => Promise<void>;
}

/** Each has a module of its own, because they want different versions of the same module. */
const engineTools: readonly GoTool[] = [
  {
    module: new URL("cli/", import.meta.url),
    package: "github.com/pulumi/pulumi/pkg/v3/cmd/pulumi",
    binary: "pulumi",
    version: "github.com/pulumi/pulumi/sdk/v3/go/common/version.Version=v3.259.0",
  },
  {
    module: new URL("nodejs-host/", import.meta.url),
    package: "github.com/pulumi/pulumi/sdk/v3/nodejs/cmd/pulumi-language-nodejs",
    binary: "pulumi-language-nodejs",
    version: "github.com/pulumi/pulumi/sdk/v3/go/common/version.Version=v3.64.0",
  },
];

/** The files that decide what is built. */
export const moduleFiles: readonly URL[] = engineTools.flatMap(sourcesOf);

const launcher = "pulumi-resource-pulumi-nodejs";

/** In the order in which they are tried. */
export const makers: readonly EngineMaker[] = [
  {
    name: "Pulumi's installer, which downloads it",
    title: "Installing the Pulumi engine with Pulumi's installer: about a minute, once per machine",
    make: async (folder, { signal }) => {
      const script = fileURLToPath(new URL("run-installer.ts", import.meta.url));
      const env = { ...process.env, TMPDIR: join(folder, "tmp"), NODE_USE_ENV_PROXY: "1" };
      await run(process.execPath, [script, folder], { env, signal }).catch((error: unknown) => {
        // The script prints nothing but its reason.
        throw error instanceof CommandError && error.output
          ? new Error(error.output, { cause: error })
          : error;
      });
    },
  },
  {
    name: `Go ${MIN_GO} or newer, which builds it`,
    title: "Building the Pulumi engine with Go: 4 to 10 minutes, once per machine",
    make: async (folder, options) => {
      await buildGoTools(engineTools, folder, options);
      const target = join(folder, "bin", launcher);
      await copyFile(new URL(`../../node_modules/@pulumi/pulumi/${launcher}`, import.meta.url), target);
      await chmod(target, 0o755);
    },
  },
];
