import { copyFile, mkdir, mkdtempDisposable, readdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { findExecutable, pathFolders } from "../engine/engine.ts";
import { findPython, makeEnvironment, MIN_PYTHON } from "../openapi/environment.ts";
import { run } from "../lib/run.ts";
import { inClone, sdkFolder, type SdkLanguage } from "./generate.ts";

interface Check {
  /** What is done, and how long that takes on two cores. */
  title: string;
  /** Gives what has been seen. */
  run: (options: { signal: AbortSignal; onLine: (line: string) => void }) => Promise<string>;
}

/** Builds each SDK with what its language uses, and the example programs with it. Each throws what is wrong. */
export const checks: Record<Exclude<SdkLanguage, "dotnet">, Check> = {
  python: {
    title: "Building a wheel, and checking the examples with mypy --strict: one or two minutes",
    run: async (options) => {
      const python = await findPython(options.signal);
      if (python === undefined)
        throw new Error(`there is no Python ${MIN_PYTHON} or newer with venv on PATH`);
      await using folder = await mkdtempDisposable(join(tmpdir(), "apichat-sdk-python-"));
      const environment = { command: python.command, folder: folder.path, packages: ["mypy"] };
      await makeEnvironment({ ...environment, signal: options.signal });
      const inVenv = (...args: string[]): Promise<string> =>
        run(join(folder.path, "bin", "python"), ["-m", ...args], { ...options, cwd: folder.path });
      const pip = (...args: string[]): Promise<string> =>
        inVenv("pip", ...args, "--no-input", "--disable-pip-version-check");
      const sdk = join(sdkFolder, "python");
      await pip("wheel", "--no-deps", "--wheel-dir", join(sdk, "dist"), sdk);
      const wheel = await packageIn(sdk);
      await pip("install", wheel);
      // Each is a main program of its own.
      for (const program of await programsIn("examples/python", "__main__.py")) {
        await inVenv("mypy", "--strict", program);
      }
      return `${wheel} installs, and the examples pass mypy --strict`;
    },
  },
  go: {
    title: "Compiling the examples with Go: 6 minutes the first time, for Pulumi's own SDK",
    run: async (options) => {
      requireCommand("go", "Go 1.26 or newer");
      const env = { ...process.env, GOTOOLCHAIN: "local", GOWORK: "off" };
      const sdk = { ...options, env, cwd: inClone("examples/go") };
      await run("go", ["build", "example.com/pulumi-apichat/sdk/go/...", "./..."], sdk);
      return "the SDK and the examples compile";
    },
  },
  nodejs: {
    title: "Compiling and packing for Node.js: some seconds",
    run: async (options) => {
      const sdk = join(sdkFolder, "nodejs");
      await run("tsc", ["-p", sdk], options);
      await copyFile(join(sdk, "package.json"), join(sdk, "bin", "package.json"));
      await copyFile(join(sdk, "README.md"), join(sdk, "bin", "README.md"));
      await mkdir(join(sdk, "dist"));
      const cwd = join(sdk, "bin");
      await run("npm", ["pack", "--pack-destination", join(sdk, "dist")], { ...options, cwd });
      await run("node", ["-e", "require(process.argv[1]).Provider.name", cwd], options);
      return `${await packageIn(sdk)} is packed`;
    },
  },
  java: {
    title: "Compiling the examples with Maven: half a minute",
    run: async (options) => {
      requireCommand("mvn", "Maven, with a JDK 17 or newer");
      await run("mvn", ["--batch-mode", "compile"], { ...options, cwd: inClone("examples/java") });
      return "the SDK and the examples compile";
    },
  },
};

/** What was packed into the `dist` of an SDK. */
async function packageIn(sdk: string): Promise<string> {
  const [name, ...others] = await readdir(join(sdk, "dist"));
  if (name === undefined || others.length > 0) throw new Error(`${sdk}/dist: not one package is there`);
  return join(sdk, "dist", name);
}

async function programsIn(folder: string, file: string): Promise<string[]> {
  const entries = await readdir(inClone(folder), { withFileTypes: true });
  return entries.filter((one) => one.isDirectory()).map(({ name }) => join(inClone(folder), name, file));
}

function requireCommand(name: string, title: string): void {
  if (findExecutable(name, pathFolders()) === undefined) {
    throw new Error(`there is no ${name} on PATH; install ${title}`);
  }
}
