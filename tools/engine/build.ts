import { chmod, copyFile, mkdir } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import { run } from "../setup/processes.mjs";
import { compareVersions, findExecutable } from "./engine.ts";
import type { EngineMaker, MakerContext } from "./make.ts";

const oldestGo = "1.26";

interface GoTool {
  /** The folder with its go.mod and go.sum. */
  module: URL;
  package: string;
  binary: string;
  version: string;
}

/** Each has a module of its own, because they want different versions of the same module. */
const tools: readonly GoTool[] = [
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
export const moduleFiles: readonly URL[] = tools.flatMap(({ module }) => [
  new URL("go.mod", module),
  new URL("go.sum", module),
]);

const launcher = fileURLToPath(
  new URL("../../node_modules/@pulumi/pulumi/pulumi-resource-pulumi-nodejs", import.meta.url),
);

/** Builds the CLI and its Node.js host from their Go modules: 4 to 10 minutes on two cores. */
export const goBuild: EngineMaker = {
  name: `Go ${oldestGo} or newer, which builds it`,
  source: "build",
  title: "Building the Pulumi engine with Go: 4 to 10 minutes, once per machine",
  make: buildEngine,
};

async function buildEngine(folder: string, context: MakerContext): Promise<void> {
  const env = {
    ...context.env,
    CGO_ENABLED: "0",
    GOTOOLCHAIN: "local",
    GOWORK: "off",
    GOTMPDIR: join(folder, "tmp"),
  };
  await checkGo(env, context.signal);
  await mkdir(env.GOTMPDIR);
  const count = { modules: 0, packages: 0 };
  for (const tool of tools) {
    await run("go", buildArguments(tool, join(folder, "bin", tool.binary)), {
      cwd: fileURLToPath(tool.module),
      env,
      signal: context.signal,
      onLine: (line) => {
        if (line.startsWith("go: ")) count.modules += 1;
        else count.packages += 1;
        context.update(
          `${tool.binary}: ${count.modules} modules fetched, ${count.packages} packages compiled`,
        );
      },
    });
  }
  await copyFile(launcher, join(folder, "bin", "pulumi-resource-pulumi-nodejs"));
  await chmod(join(folder, "bin", "pulumi-resource-pulumi-nodejs"), 0o755);
}

function buildArguments(tool: GoTool, output: string): string[] {
  const version = `-X github.com/pulumi/pulumi/sdk/v3/go/common/version.Version=${tool.version}`;
  const flags = [
    "-v",
    "-mod=readonly",
    "-trimpath",
    "-tags",
    "osusergo,grpcnotrace",
    "-ldflags",
    `-s -w ${version}`,
  ];
  return ["build", ...flags, "-o", output, tool.package];
}

async function checkGo(env: NodeJS.ProcessEnv, signal: AbortSignal): Promise<void> {
  if (findExecutable("go", (env.PATH ?? "").split(delimiter)) === undefined)
    throw new Error("there is no go on PATH");
  const output = await run("go", ["version"], { env, signal });
  const version = /\bgo(\d+\.\d+\S*)/.exec(output)?.[1];
  if (version === undefined || compareVersions(version, oldestGo) < 0) {
    throw new Error(`the go on PATH is ${version ?? output}; ${oldestGo} or newer is needed`);
  }
}
