import { cp, mkdir, readFile, utimes, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { parse } from "yaml";
import { packFolder } from "../../tools/release/archives.ts";
import { writeNotes, writeSums } from "../../tools/release/papers.ts";
import { checkTag, parseRepository, stamp } from "../../tools/release/stamp.ts";
import { makeFolder } from "../support/folder.ts";
import { root } from "../support/pages.ts";

test("a repository is OWNER/NAME or its address on GitHub", () => {
  for (const text of ["acme/hooks", "https://github.com/acme/hooks", "https://github.com/acme/hooks.git"])
    expect(parseRepository(text)).toBe("acme/hooks");
  for (const text of [
    "acme",
    "acme/hooks/more",
    "https://example.com/acme/hooks",
    "git@github.com:acme/hooks",
  ])
    expect(() => parseRepository(text)).toThrow(`--repository: "${text}" is not a repository`);
});

test("checkTag requires a tag that matches the version, and a repository", () => {
  checkTag("v1.2.3", "1.2.3", "acme/hooks");
  expect(() => checkTag("v1.2.4", "1.2.3", "acme/hooks")).toThrow(
    '"v1.2.4" does not match the version in package.json',
  );
  expect(() => checkTag("1.2.3", "1.2.3", "acme/hooks")).toThrow("as v1.2.3");
  expect(() => checkTag("v1.2.3", "1.2.3", undefined)).toThrow("also pass --repository OWNER/NAME");
});

test("stamp writes the new repository into each file that contains a repository", async () => {
  const folder = await makeFolder();
  const names = ["package.json", "schema/pulumi.yaml", "docs/guide/languages.md"];
  for (const name of names) await cp(join(root, name), join(folder, name));
  const read = (name = ""): Promise<string> => readFile(join(folder, name), "utf8");
  const before = await read(names[2]);
  await stamp(folder, "other/name");
  await stamp(folder, "acme/hooks");
  const [manifest = "", schema = "", page] = await Promise.all(names.map(read));
  const [url, goPath] = ["https://github.com/acme/hooks", "github.com/acme/hooks/sdk/go"];
  const links = { homepage: `${url}#readme`, bugs: `${url}/issues` };
  const repository = { type: "git", url: `git+${url}.git` };
  expect(JSON.parse(manifest)).toMatchObject({ name: "pulumi-apichat", repository, ...links });
  const stamped = { repository: url, homepage: url, pluginDownloadURL: "github://api.github.com/acme/hooks" };
  const language = { go: { importBasePath: `${goPath}/apichat` } };
  expect(parse(schema)).toMatchObject({ package: { name: "apichat", ...stamped, language } });
  expect(page).toBe(before.replaceAll("example.com/pulumi-apichat/sdk/go", goPath));
  expect(page).not.toBe(before);
});

test("pip installs the wheel's build tools only with known hashes", async () => {
  const [, option, ...packages] = (await readFile(join(root, "tools/release/requirements.txt"), "utf8"))
    .trimEnd()
    .split("\n");
  expect(option).toBe("--require-hashes");
  for (const one of packages) expect(one).toMatch(/^\S+==\S+ --hash=sha256:[0-9a-f]{64}$/);
});

/** Packs files with these names, written in this order at this time. Returns the checksums. */
async function pack(mtime: number, ...names: string[]): Promise<string> {
  const [folder, out] = [await makeFolder(), await makeFolder()];
  for (const name of names) {
    await mkdir(dirname(join(folder, name)), { recursive: true });
    await writeFile(join(folder, name), name);
    await utimes(join(folder, name), 0, mtime);
  }
  await packFolder(folder, join(out, "archive.tar.gz"));
  return writeSums(out);
}

test("an archive has the same bytes, whenever it is made and however its files are ordered", async () => {
  const sums = await pack(1e9, "a.txt", "b/c.txt");
  expect(sums).toMatch(/^[0-9a-f]{64} {2}archive\.tar\.gz\n$/);
  expect(await pack(2e9, "b/c.txt", "a.txt")).toBe(sums);
});

test("the release notes are the version's section of the changelog", async () => {
  const folder = await makeFolder();
  await writeFile(join(folder, "package.json"), '{ "version": "1.2.0" }');
  await writeFile(
    join(folder, "CHANGELOG.md"),
    "# Changes\n\n## 1.2.0-rc.1\n\nOld.\n\n## 1.2.0 (today)\n\nNew.\n\n## 1.1.0\n\nOlder.\n",
  );
  await writeNotes(folder, folder);
  expect(await readFile(join(folder, "release-notes.md"), "utf8")).toBe("New.\n\n");
  await writeFile(join(folder, "package.json"), '{ "version": "1.3.0" }');
  await expect(writeNotes(folder, folder)).rejects.toThrow('CHANGELOG.md has no section "## 1.3.0"');
});
