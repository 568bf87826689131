import { chmod, copyFile } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { CommandError, run } from "../setup/run.mjs";
import { compareVersions, findExecutable, pathFolders } from "./engine.ts";

/** A way to get an engine that is not there yet. */
export interface EngineMaker {
  /** As the last error names it. */
  name: string;
  /** What is done, and how long that takes. */
  title: string;
  /** Puts `pulumi` and its hosts into `<folder>/bin`, an empty folder; temporary files go into `<folder>/tmp`. Throws if it cannot. */
  make: (folder: string, context: MakerContext) => Promise<void>;
}

interface MakerContext {
  env: NodeJS.ProcessEnv;
  /** Aborts on Ctrl-C; the maker ends its processes then. */
  signal: AbortSignal;
  /** Shows how far the work is. */
  update: (detail: string) => void;
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

const oldestGo = "1.26";

/** Each has a module of its own, because they want different versions of the same module. */
const goTools = [
  {
    module: new URL("cli/", import.meta.url),
    package: "github.com/pulumi/pulumi/pkg/v3/cmd/pulumi",
    binary: "pulumi",
    version: "v3.259.0",
  },
  {
    module: new URL("nodejs-host/", import.meta.url),
    package: "github.com/pulumi/pulumi/sdk/v3/nodejs/cmd/pulumi-language-nodejs",
    binary: "pulumi-language-nodejs",
    version: "v3.64.0",
  },
];

/** The files that decide what is built. */
export const moduleFiles: readonly URL[] = goTools.flatMap(({ module }) => [
  new URL("go.mod", module),
  new URL("go.sum", module),
]);

const launcher = "pulumi-resource-pulumi-nodejs";

/** Builds the CLI and its Node.js host from their Go modules: 4 to 10 minutes on two cores. */
export const goBuild: EngineMaker = {
  name: `Go ${oldestGo} or newer, which builds it`,
  title: "Building the Pulumi engine with Go: 4 to 10 minutes, once per machine",
  make: async (folder, context) => {
    const env = {
      ...context.env,
      CGO_ENABLED: "0",
      GOTOOLCHAIN: "local",
      GOWORK: "off",
      GOTMPDIR: join(folder, "tmp"),
    };
    await checkGo(env, context.signal);
    const count = { modules: 0, packages: 0 };
    const onLine = (line: string): void => {
      count[line.startsWith("go: ") ? "modules" : "packages"] += 1;
      context.update(`${count.modules} modules fetched, ${count.packages} packages compiled`);
    };
    for (const { module, package: name, binary, version } of goTools) {
      const link = `-s -w -X github.com/pulumi/pulumi/sdk/v3/go/common/version.Version=${version}`;
      const flags = ["-v", "-mod=readonly", "-trimpath", "-tags", "osusergo,grpcnotrace", "-ldflags", link];
      const args = ["build", ...flags, "-o", join(folder, "bin", binary), name];
      await run("go", args, { cwd: fileURLToPath(module), env, signal: context.signal, onLine });
    }
    const target = join(folder, "bin", launcher);
    await copyFile(new URL(`../../node_modules/@pulumi/pulumi/${launcher}`, import.meta.url), target);
    await chmod(target, 0o755);
  },
};

async function checkGo(env: NodeJS.ProcessEnv, signal: AbortSignal): Promise<void> {
  if (findExecutable("go", pathFolders(env)) === undefined) throw new Error("there is no go on PATH");
  const output = await run("go", ["version"], { env, signal });
  const version = /\bgo(\d+\.\d+\S*)/.exec(output)?.[1];
  if (version === undefined || compareVersions(version, oldestGo) < 0) {
    throw new Error(`the go on PATH is ${version ?? output}; ${oldestGo} or newer is needed`);
  }
}
