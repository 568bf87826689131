import { mkdir, mkdtempDisposable, readdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { findPython, makeEnvironment, MIN_PYTHON } from "../lib/python.ts";
import { run } from "../lib/run.ts";
import { packNode, packPython } from "../release/sdks.ts";
import { inClone, sdkFolder, type SdkLanguage } from "./generate.ts";

interface Check {
  /** What the check does and needs, and how long it takes on two cores. */
  title: string;
  /** Returns a description of what was checked. */
  run: (options: { signal: AbortSignal; onLine: (line: string) => void }) => Promise<string>;
}

/**
 * Builds each SDK with the tools of its language, and the example programs with it. Each throws the problem
 * that it finds.
 */
export const checks: Record<SdkLanguage, Check> = {
  python: {
    title: "Building a wheel, and checking the examples with mypy --strict: one or two minutes",
    run: async (options) => {
      const python = await findPython(options.signal);
      if (python === undefined)
        throw new Error(`there is no Python ${MIN_PYTHON} or newer with venv on PATH`);
      await using folder = await mkdtempDisposable(join(tmpdir(), "apichat-sdk-python-"));
      await makeEnvironment(python.command, folder.path, ["mypy"], options.signal);
      const inVenv = (...args: string[]): Promise<string> =>
        run(join(folder.path, "bin", "python"), ["-m", ...args], { ...options, cwd: folder.path });
      const wheel = await pack("python", packPython, ".whl", options.signal);
      await inVenv("pip", "install", "--no-input", wheel);
      // Each example is its own main program.
      for (const entry of await readdir(inClone("examples/python"), { withFileTypes: true })) {
        if (!entry.isDirectory()) continue;
        await inVenv("mypy", "--strict", join(entry.parentPath, entry.name, "__main__.py"));
      }
      return `${wheel} installs, and the examples pass mypy --strict`;
    },
  },
  go: {
    title: "Compiling the examples with Go 1.26: 6 minutes the first time, for Pulumi's own SDK",
    run: async (options) => {
      const env = { ...process.env, GOTOOLCHAIN: "local", GOWORK: "off" };
      const sdk = { ...options, env, cwd: inClone("examples/go") };
      await run("go", ["build", "example.com/pulumi-apichat/sdk/go/...", "./..."], sdk);
      return "the SDK and the examples compile";
    },
  },
  nodejs: {
    title: "Compiling and packing for Node.js: some seconds",
    run: async (options) => {
      const tarball = await pack("nodejs", packNode, ".tgz", options.signal);
      const compiled = join(sdkFolder, "nodejs/bin");
      await run("node", ["-e", "require(process.argv[1]).Provider.name", compiled], options);
      return `${tarball} is packed`;
    },
  },
  java: {
    title: "Compiling the examples with Maven and a JDK 17: half a minute",
    run: async (options) => {
      await run("mvn", ["--batch-mode", "compile"], { ...options, cwd: inClone("examples/java") });
      return "the SDK and the examples compile";
    },
  },
};

/** Packs an SDK into its folder `dist`, as for a release. Returns the package that ends in `extension`. */
async function pack(
  language: SdkLanguage,
  packSdk: typeof packNode,
  extension: string,
  signal: AbortSignal,
): Promise<string> {
  const sdk = join(sdkFolder, language);
  const folder = join(sdk, "dist");
  await mkdir(folder);
  await packSdk({ sdk, folder, signal });
  const name = (await readdir(folder)).find((file) => file.endsWith(extension));
  if (name === undefined) throw new Error(`${folder} has no ${extension}`);
  return join(folder, name);
}
