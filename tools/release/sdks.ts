import { copyFile, mkdir, mkdtempDisposable, readFile, readdir, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { x as extract } from "tar";
import { withProgress } from "../lib/progress.mjs";
import { run } from "../lib/run.ts";
import { preparePackages, requirePython } from "../lib/python.ts";
import type { SdkLanguage } from "../sdk/generate.ts";
import { packFolder, versionOf } from "./archives.ts";
import { urlOf, type Repository } from "./stamp.ts";

/** The build time recorded in packages, so that builds are reproducible. Zip files support none before 1980. */
const BUILT_AT = new Date("1980-01-02T00:00:00Z");

interface Packing {
  /** The folder of the language's generated SDK. */
  sdk: string;
  /** The folder for the packages. */
  folder: string;
  version: string;
  signal: AbortSignal;
  repository?: Repository | undefined;
}

const packers = { python: packPython, nodejs: packNode, java: packJava, go: packGo };

/** Generates the SDK of each language in a checkout, and writes their packages to a folder. */
export async function packSdks(
  source: string,
  folder: string,
  languages: readonly SdkLanguage[],
  options: Pick<Packing, "signal" | "repository">,
): Promise<void> {
  const { signal } = options;
  const version = await versionOf(source);
  await withProgress("Generating the SDKs: a few seconds to 4 minutes", (update) =>
    run(process.execPath, ["tools/sdk/main.ts", "--language", ...languages], {
      cwd: source,
      signal,
      onLine: update,
    }),
  );
  for (const language of languages) {
    const sdk = join(source, "sdk", language);
    await withProgress(`Packing the SDK for ${language}: up to a minute`, () =>
      packers[language]({ sdk, folder, version, ...options }),
    );
  }
}

/** Packs a wheel and an sdist. */
export async function packPython({ sdk, folder, signal }: Omit<Packing, "version">): Promise<void> {
  const python = await requirePython(signal);
  const builder = await preparePackages(python, new URL("requirements.txt", import.meta.url), signal);
  await using scratch = await mkdtempDisposable(join(tmpdir(), "apichat-python-"));
  const [dist, content] = [join(scratch.path, "dist"), join(scratch.path, "content")];
  const env = { ...process.env, SOURCE_DATE_EPOCH: `${BUILT_AT.getTime() / 1000}` };
  await run(builder, ["-m", "build", "--no-isolation", "--outdir", dist, sdk], { env, signal });
  for (const name of await readdir(dist)) {
    if (!name.endsWith(".tar.gz")) await copyFile(join(dist, name), join(folder, name));
    else {
      // Packs the sdist again, reproducibly, because setuptools writes the current time into it.
      await mkdir(content);
      await extract({ file: join(dist, name), cwd: content });
      await packFolder(content, join(folder, name));
    }
  }
}

async function packNode({ sdk, folder, signal }: Packing): Promise<void> {
  const cwd = await compileNode(sdk, signal);
  await run("npm", ["pack", "--pack-destination", folder], { cwd, signal });
}

/** Compiles the SDK for Node.js. Returns the folder of the package. */
export async function compileNode(sdk: string, signal: AbortSignal): Promise<string> {
  const bin = join(sdk, "bin");
  await run("tsc", ["-p", sdk], { signal });
  for (const name of ["package.json", "README.md"]) await copyFile(join(sdk, name), join(bin, name));
  return bin;
}

/**
 * Packs the jar, its sources and documentation, and the pom.xml: everything that Maven Central requires
 * except signatures.
 */
async function packJava({ sdk, folder, version, signal, repository }: Packing): Promise<void> {
  const [owner = ""] = repository?.split("/") ?? [];
  const values: Record<string, string> = {
    VERSION: version,
    OWNER: owner,
    GROUP: repository === undefined ? "apichat" : `io.github.${owner.toLowerCase()}`,
    URL: repository === undefined ? "" : urlOf(repository),
  };
  const template = await readFile(new URL("pom.xml", import.meta.url), "utf8");
  const pom = template.replaceAll(/@(\w+)@/g, (_, name: string) => values[name] ?? "");
  await writeFile(join(sdk, "pom.xml"), pom);
  await run("mvn", ["--batch-mode", "--quiet", "package"], { cwd: sdk, signal });
  for (const kind of ["", "-sources", "-javadoc"]) {
    const name = `apichat-${version}${kind}.jar`;
    await copyFile(join(sdk, "target", name), join(folder, name));
  }
  await copyFile(join(sdk, "pom.xml"), join(folder, `apichat-${version}.pom`));
}

/** Packs the module's folder, which publish.ts commits and tags. */
async function packGo({ sdk, folder, version }: Packing): Promise<void> {
  await packFolder(sdk, join(folder, `apichat-go-v${version}.tar.gz`));
}
