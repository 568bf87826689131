import { globSync } from "node:fs";
import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { inClone } from "../lib/clone.ts";
import { makeEnvironment, requirePython } from "../lib/python.ts";
import { run } from "../lib/run.ts";
import { compileNode } from "../release/sdks.ts";
import { sdkFolder, type SdkLanguage } from "./generate.ts";

interface Check {
  /** What the check does and needs, and how long it takes on two cores. */
  title: string;
  run: (options: { signal: AbortSignal; onLine: (line: string) => void }) => Promise<unknown>;
}

/** Builds each SDK and its examples with the tools of its language. A check throws if it finds a problem. */
export const checks: Record<SdkLanguage, Check> = {
  python: {
    title: "Installing the SDK, and checking the examples with mypy --strict: one or two minutes",
    run: async (options) => {
      const python = await requirePython(options.signal);
      await using folder = await mkdtempDisposable(join(tmpdir(), "apichat-sdk-python-"));
      const packages = [join(sdkFolder, "python"), "mypy"];
      await makeEnvironment(python.command, folder.path, packages, options.signal);
      const mypy = join(folder.path, "bin/mypy");
      // One by one, because each example is a module `__main__`, and mypy rejects two modules of the same name.
      for (const file of globSync(inClone("examples/python/*/__main__.py")))
        await run(mypy, ["--strict", file], { ...options, cwd: folder.path });
    },
  },
  go: {
    title: "Compiling the examples with Go 1.26: 6 minutes the first time, mostly for Pulumi's own SDK",
    run: async (options) => {
      const env = { ...process.env, GOTOOLCHAIN: "local", GOWORK: "off" };
      const sdk = { ...options, env, cwd: inClone("examples/go") };
      await run("go", ["build", "example.com/pulumi-apichat/sdk/go/...", "./..."], sdk);
    },
  },
  nodejs: {
    title: "Compiling the SDK for Node.js: a few seconds",
    run: async (options) => {
      const compiled = await compileNode(join(sdkFolder, "nodejs"), options.signal);
      await run("node", ["-e", "require(process.argv[1]).Provider.name", compiled], options);
    },
  },
  java: {
    title: "Compiling the examples with Maven and a JDK 17: half a minute",
    run: (options) => run("mvn", ["--batch-mode", "compile"], { ...options, cwd: inClone("examples/java") }),
  },
};
