import { glob, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { parseDocument } from "yaml";
import { clone } from "../lib/clone.ts";

/** A repository on GitHub, `OWNER/NAME`. */
export type Repository = `${string}/${string}`;

export function parseRepository(text: string): Repository {
  const [, owner, name] = /^(?:https:\/\/github\.com\/)?([\w.-]+)\/([\w.-]+?)(?:\.git)?$/.exec(text) ?? [];
  if (owner !== undefined && name !== undefined) return `${owner}/${name}`;
  throw new Error(
    `--repository: "${text}" is not a repository on GitHub; use OWNER/NAME, as in GITHUB_REPOSITORY`,
  );
}

/** Throws unless the tag matches the version and a repository is given. */
export function checkTag(tag: string, version: string, repository: Repository | undefined): void {
  if (tag !== `v${version}`)
    throw new Error(
      `--tag: "${tag}" does not match the version in package.json, which is ${version}; ` +
        `tag the commit of that version as v${version}`,
    );
  if (repository === undefined)
    throw new Error("--tag: a release must name its repository; also pass --repository OWNER/NAME");
}

/** Returns the plugin's download URL. Because of its scheme, the engine asks GitHub for the release of the version. */
const downloadUrlOf = (repository: Repository): string => `github://api.github.com/${repository}`;

export const urlOf = (repository: Repository): string => `https://github.com/${repository}`;

/**
 * Writes a repository's address into a checkout: into package.json, the source of the schema, and every
 * occurrence of the Go module's path. Replaces an earlier repository.
 */
export async function stamp(folder: string, repository: Repository): Promise<void> {
  const url = urlOf(repository);
  const goPath = `github.com/${repository}/sdk/go`;
  await change(join(folder, "package.json"), (text) => {
    const manifest = JSON.parse(text) as object;
    const links = { homepage: `${url}#readme`, bugs: `${url}/issues` };
    const all = { ...manifest, repository: { type: "git", url: `git+${url}.git` }, ...links };
    return `${JSON.stringify(all, undefined, 2)}\n`;
  });
  let before = "";
  await change(join(folder, "schema/pulumi.yaml"), (text) => {
    const source = parseDocument(text);
    before = (source.getIn([...GO_PATH]) as string).replace(/\/apichat$/, "");
    source.setIn(["package", "repository"], url);
    source.setIn(["package", "homepage"], url);
    source.setIn(["package", "pluginDownloadURL"], downloadUrlOf(repository));
    source.setIn([...GO_PATH], `${goPath}/apichat`);
    return source.toString({ lineWidth: 0 });
  });
  for await (const file of glob(["docs/**/*.md", "examples/go/**/*.{go,mod}", "tools/sdk/check.ts"], {
    cwd: folder,
  }))
    await change(join(folder, file), (text) => text.replaceAll(before, goPath));
}

const GO_PATH = ["package", "language", "go", "importBasePath"] as const;

const change = async (file: string, edit: (text: string) => string): Promise<void> =>
  writeFile(file, edit(await readFile(file, "utf8")));

// `node tools/release/stamp.ts OWNER/NAME` changes this clone.
if (import.meta.main) await stamp(clone, parseRepository(process.argv[2] ?? ""));
