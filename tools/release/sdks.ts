import { copyFile, mkdir, mkdtempDisposable, readFile, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import process from "node:process";
import { x as extract } from "tar";
import packageJson from "../../package.json" with { type: "json" };
import { findExecutable } from "../engine/engine.ts";
import { withProgress } from "../lib/progress.mjs";
import { run } from "../lib/run.ts";
import { findPython, makeEnvironment, MIN_PYTHON } from "../openapi/environment.ts";
import { packFolder } from "../plugin-archives/archives.ts";

const { version } = packageJson;

/** Tools of other languages write this time into what they build: 1980, the earliest year that a zip file can hold. */
const BUILT_AT = new Date("1980-01-02T00:00:00Z");

/** Generates the SDK of each language in a checkout, and writes their packages into a folder. */
export async function packSdks(
  source: string,
  folder: string,
  { signal, owner = "apichat" }: { signal: AbortSignal; owner?: string | undefined },
): Promise<void> {
  await withProgress("Generating the SDKs: some seconds to 4 minutes", (update) =>
    run(process.execPath, ["tools/sdk/main.ts"], { cwd: source, signal, onLine: update }),
  );
  const languages = { python: packPython, nodejs: packNode, java: packJava, dotnet: packDotnet, go: packGo };
  for (const [language, pack] of Object.entries(languages)) {
    const sdk = join(source, "sdk", language);
    await withProgress(`Packing the SDK for ${language}: up to a minute`, () =>
      pack(sdk, folder, signal, `io.github.${owner.toLowerCase()}`),
    );
  }
}

/** A wheel and an sdist. */
async function packPython(sdk: string, folder: string, signal: AbortSignal): Promise<void> {
  const python = await findPython(signal);
  if (python === undefined) throw new Error(`there is no Python ${MIN_PYTHON} or newer with venv on PATH`);
  await using scratch = await mkdtempDisposable(join(tmpdir(), "apichat-python-"));
  const [venv, dist, content] = ["venv", "dist", "content"].map((name) => join(scratch.path, name)) as [
    string,
    string,
    string,
  ];
  await makeEnvironment(python.command, venv, ["build", "setuptools", "wheel"], signal);
  const env = { ...process.env, SOURCE_DATE_EPOCH: `${BUILT_AT.getTime() / 1000}` };
  await run(join(venv, "bin/python"), ["-m", "build", "--no-isolation", "--outdir", dist, sdk], {
    env,
    signal,
  });
  for (const name of await readdir(dist)) {
    if (!name.endsWith(".tar.gz")) await copyFile(join(dist, name), join(folder, name));
    else {
      // setuptools writes the time of the build into an sdist.
      await mkdir(content);
      await extract({ file: join(dist, name), cwd: content });
      await packFolder(content, join(folder, name));
    }
  }
}

async function packNode(sdk: string, folder: string, signal: AbortSignal): Promise<void> {
  const bin = join(sdk, "bin");
  await run("tsc", ["-p", sdk], { signal });
  for (const name of ["package.json", "README.md"]) await copyFile(join(sdk, name), join(bin, name));
  await run("npm", ["pack", "--pack-destination", folder], { cwd: bin, signal });
}

/** The jar, its sources, and the pom.xml that a repository wants beside them. */
async function packJava(sdk: string, folder: string, signal: AbortSignal, group: string): Promise<void> {
  const pom = join(sdk, "pom.xml");
  const template = await readFile(new URL("pom.xml", import.meta.url), "utf8");
  await writeFile(pom, template.replace("@VERSION@", version).replace("@GROUP@", group));
  await run("mvn", ["--batch-mode", "--quiet", "package"], { cwd: sdk, signal });
  for (const name of [`apichat-${version}.jar`, `apichat-${version}-sources.jar`])
    await copyFile(join(sdk, "target", name), join(folder, name));
  await copyFile(pom, join(folder, `apichat-${version}.pom`));
}

/** A NuGet package where there is a .NET SDK, else the sources that one makes it from. */
async function packDotnet(sdk: string, folder: string, signal: AbortSignal): Promise<void> {
  if (findExecutable("dotnet", (process.env["PATH"] ?? "").split(delimiter)) === undefined) {
    console.error(
      "There is no dotnet on PATH: the release has the sources of the .NET SDK, and no NuGet package.",
    );
    return packFolder(sdk, join(folder, `apichat-dotnet-${version}.tar.gz`));
  }
  const args = [
    "pack",
    "--configuration",
    "Release",
    "-p:ContinuousIntegrationBuild=true",
    "--output",
    folder,
  ];
  await run("dotnet", args, { cwd: sdk, signal });
}

/** The content of the module's folder: a commit with it and a tag are its publication. */
async function packGo(sdk: string, folder: string): Promise<void> {
  await rm(join(sdk, ".checked"), { force: true });
  await packFolder(sdk, join(folder, `apichat-go-v${version}.tar.gz`));
}
