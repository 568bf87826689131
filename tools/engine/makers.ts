import { chmod, copyFile } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { CommandError, run } from "../setup/run.mjs";
import { buildGoTools, oldestGo, sourcesOf, type BuildContext, type GoTool } from "./go-tools.ts";

/** A way to get an engine that is not there yet. */
export interface EngineMaker {
  /** As the last error names it. */
  name: string;
  /** What is done, and how long that takes. */
  title: string;
  /** Puts `pulumi` and its hosts into `<folder>/bin`, an empty folder; temporary files go into `<folder>/tmp`. Throws if it cannot. */
  make: (folder: string, context: BuildContext) => Promise<void>;
}

/** Pulumi's own installer, as the SDK carries it. It needs the internet. */
export const officialInstaller: EngineMaker = {
  name: "Pulumi's installer, which downloads it",
  title: "Installing the Pulumi engine with Pulumi's installer: about a minute, once per machine",
  make: async (folder, { env, signal }) => {
    const script = fileURLToPath(new URL("run-installer.ts", import.meta.url));
    try {
      await run(process.execPath, [script, folder], {
        env: { ...env, TMPDIR: join(folder, "tmp"), NODE_USE_ENV_PROXY: "1" },
        signal,
      });
    } catch (error) {
      // The script prints nothing but its reason.
      throw error instanceof CommandError && error.output ? new Error(error.output, { cause: error }) : error;
    }
  },
};

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

/** Builds the CLI and its Node.js host from their Go modules: 4 to 10 minutes on two cores. */
export const goBuild: EngineMaker = {
  name: `Go ${oldestGo} or newer, which builds it`,
  title: "Building the Pulumi engine with Go: 4 to 10 minutes, once per machine",
  make: async (folder, context) => {
    await buildGoTools(engineTools, folder, context);
    const target = join(folder, "bin", launcher);
    await copyFile(new URL(`../../node_modules/@pulumi/pulumi/${launcher}`, import.meta.url), target);
    await chmod(target, 0o755);
  },
};
