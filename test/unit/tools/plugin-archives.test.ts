import { createHash } from "node:crypto";
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { execa } from "execa";
import { expect, test } from "vitest";
import { writeSums } from "../../../tools/plugin-archives/archives.ts";
import { NoSuchPackage, unpackNode } from "../../../tools/plugin-archives/node-package.ts";
import { platforms, PLATFORMS } from "../../../tools/plugin-archives/platforms.ts";
import { tarOf, type Entry } from "../../../tools/plugin-archives/tar.ts";
import { afterTests, startServer } from "../../support/http.ts";

async function makeFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "plugin-archives-"));
  afterTests(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

/** The bytes of an npm package whose binary of Node is this script. */
async function makePackage(script: string): Promise<Buffer> {
  const folder = await makeFolder();
  await mkdir(join(folder, "package/bin"), { recursive: true });
  await writeFile(join(folder, "package/bin/node"), script);
  await writeFile(join(folder, "package/package.json"), `{ "name": "node-example", "version": "1.2.3" }`);
  await execa("tar", ["-czf", "package.tgz", "package"], { cwd: folder });
  return readFile(join(folder, "package.tgz"));
}

const integrityOf = (content: Buffer): string =>
  `sha512-${createHash("sha512").update(content).digest("base64")}`;

/** An npm registry that has one package. Gives the environment of npm for it. */
async function startRegistry(content: Buffer): Promise<NodeJS.ProcessEnv> {
  const tarball = "/node-example/-/node-example-1.2.3.tgz";
  const { url } = await startServer(({ path }, response) => {
    if (path === tarball) return response.end(content);
    if (path !== "/node-example") return response.writeHead(404).end("{}");
    const dist = { tarball: `${url}${tarball}`, integrity: integrityOf(content) };
    const versions = { "1.2.3": { name: "node-example", version: "1.2.3", dist } };
    return response.end(JSON.stringify({ name: "node-example", "dist-tags": { latest: "1.2.3" }, versions }));
  });
  const folder = await makeFolder();
  return { PATH: process.env["PATH"], HOME: folder, npm_config_registry: url, npm_config_cache: folder };
}

const { signal } = new AbortController();

test("a binary of Node comes from the pinned package only, whatever is in the cache", async () => {
  const [good, planted] = await Promise.all(["the real one", "echo planted"].map(makePackage));
  const wanted = { name: "node-example", version: "1.2.3", integrity: integrityOf(good ?? Buffer.of()) };
  const [cache, parent] = await Promise.all([makeFolder(), makeFolder()]);
  const cached = join(cache, "node-example-1.2.3.tgz");
  await writeFile(cached, planted ?? "");
  // What an earlier version of this tool left, which was packed as it was.
  await mkdir(join(cache, "node-example-1.2.3/bin"), { recursive: true });
  await writeFile(join(cache, "node-example-1.2.3/bin/node"), "echo planted");
  const options = { signal, cache, env: await startRegistry(good ?? Buffer.of()) };
  const unpacked = await unpackNode(wanted, parent, options);
  expect(await readFile(join(unpacked, "bin/node"), "utf8")).toBe("the real one");
  expect(await readFile(cached)).toEqual(good);

  // From the cache, without a registry.
  const again = await unpackNode(wanted, parent, {
    ...options,
    env: { ...options.env, npm_config_registry: "http://127.0.0.1:1" },
  });
  expect(await readFile(join(again, "bin/node"), "utf8")).toBe("the real one");
});

test("a registry with a different package for that version is refused, and nothing of it stays", async () => {
  const [good, planted] = await Promise.all(["the real one", "echo planted"].map(makePackage));
  const wanted = { name: "node-example", version: "1.2.3", integrity: integrityOf(good ?? Buffer.of()) };
  const [cache, parent] = await Promise.all([makeFolder(), makeFolder()]);
  const options = { signal, cache, env: await startRegistry(planted ?? Buffer.of()) };
  await expect(unpackNode(wanted, parent, options)).rejects.toThrow(
    /^the npm registry's node-example@1\.2\.3 has the integrity sha512-\S+, and tools\/\S+ pins sha512-/,
  );
  expect([...(await readdir(cache)), ...(await readdir(parent))]).toEqual([]);
  await expect(unpackNode({ ...wanted, version: "9.9.9" }, parent, options)).rejects.toThrow(NoSuchPackage);
});

test("every platform has a package with a pinned integrity", () => {
  const pins = platforms.map((platform) => PLATFORMS[platform].integrity);
  for (const pin of pins) expect(pin).toMatch(/^sha512-[\w+/]{86}==$/);
  expect(new Set(pins).size).toBe(platforms.length);
});

test("SHA256SUMS lists what this run wrote, and no other archive of the folder", async () => {
  const folder = await makeFolder();
  await writeFile(join(folder, "stray.tar.gz"), "stray");
  await writeFile(join(folder, "ours.tar.gz"), "ours");
  const sha256 = createHash("sha256").update("ours").digest("hex");
  await writeSums(folder, [{ path: join(folder, "ours.tar.gz"), sha256 }]);
  expect(await readFile(join(folder, "SHA256SUMS"), "utf8")).toBe(`${sha256}  ours.tar.gz\n`);
});

test("an archive has names, contents and modes, and the same bytes in whatever order they are given", async () => {
  const folder = await makeFolder();
  const file = join(folder, "source");
  const long = "0123456789".repeat(1000);
  await writeFile(file, long);
  const entries: Entry[] = [
    { name: "run", content: "#!/bin/sh\necho é\n", isExecutable: true },
    { name: "empty", content: "" },
    { name: "block", content: "x".repeat(512) },
    { name: "long", content: { file } },
  ];
  const bytes = await buffer(tarOf(entries));
  expect(await buffer(tarOf(entries.toReversed()))).toEqual(bytes);

  await writeFile(join(folder, "archive.tar"), bytes);
  const listed = await execa("tar", ["-tf", "archive.tar"], { cwd: folder });
  expect(listed.stdout.split("\n")).toEqual(["block", "empty", "long", "run"]);
  await execa("tar", ["-xf", "archive.tar"], { cwd: folder });
  expect((await execa(join(folder, "run"))).stdout).toBe("é");
  expect(await readFile(join(folder, "long"), "utf8")).toBe(long);
  expect(await readFile(join(folder, "block"), "utf8")).toBe("x".repeat(512));
  await expect(execa(join(folder, "long"))).rejects.toMatchObject({ code: "EACCES" });
});
