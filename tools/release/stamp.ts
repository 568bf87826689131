import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { parseDocument } from "yaml";

/** A repository on GitHub, `OWNER/NAME`. */
export type Repository = `${string}/${string}`;

export function parseRepository(text: string): Repository {
  const [, owner, name] = /^(?:https:\/\/github\.com\/)?([\w.-]+)\/([\w.-]+?)(?:\.git)?$/.exec(text) ?? [];
  if (owner !== undefined && name !== undefined) return `${owner}/${name}`;
  throw new Error(`${text} is not a repository on GitHub; give OWNER/NAME, as in GITHUB_REPOSITORY`);
}

/** Where the engine looks for the archives of a release: it asks GitHub for the one of the version. */
export const downloadUrlOf = (repository: Repository): string => `github://api.github.com/${repository}`;

/** Writes a repository's address into a checkout: the npm package, the schema of the plugin, and the path of the Go module. */
export async function stamp(folder: string, repository: Repository): Promise<void> {
  const url = `https://github.com/${repository}`;
  await change(join(folder, "package.json"), (text) => {
    const manifest = JSON.parse(text) as object;
    const links = { homepage: `${url}#readme`, bugs: `${url}/issues` };
    const all = { ...manifest, repository: { type: "git", url: `git+${url}.git` }, ...links };
    return `${JSON.stringify(all, undefined, 2)}\n`;
  });
  await change(join(folder, "tools/schema/pulumi.yaml"), (text) => {
    const source = parseDocument(text);
    source.setIn(["package", "repository"], url);
    source.setIn(["package", "homepage"], url);
    source.setIn(["package", "pluginDownloadURL"], downloadUrlOf(repository));
    const goPath = `github.com/${repository}/sdk/go/apichat`;
    source.setIn(["package", "language", "go", "importBasePath"], goPath);
    return source.toString();
  });
}

const change = async (file: string, edit: (text: string) => string): Promise<void> =>
  writeFile(file, edit(await readFile(file, "utf8")));
