import { chmod, cp, mkdir, readFile, writeFile } from "node:fs/promises";
import { delimiter, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { Ajv } from "ajv";
import { execa } from "execa";
import { describe, expect, test } from "vitest";
import packageJson from "../../package.json" with { type: "json" };
import { packFolder } from "../../tools/release/archives.ts";
import { writeBill } from "../../tools/release/papers.ts";
import { startServer, type Received } from "../support/http.ts";
import { makeFolder } from "../support/folder.ts";
import { root } from "../support/pages.ts";
const { version } = packageJson;

/** Uses the project's own Node, because the tools do not run on every Node that the package supports. */
const runTool = (tool: string, args: readonly string[], options = {}) =>
  execa(`${root}node_modules/.bin/node`, [`${root}tools/release/${tool}.ts`, ...args], {
    reject: false,
    all: true,
    ...options,
  });

const git = async (cwd: string, ...args: string[]): Promise<string> =>
  (await execa("git", args, { cwd })).stdout;

test.each([
  ["a wrong tag", "SHA256SUMS", ["--tag", "v99.0.0", "--repository", "acme/hooks"], `which is ${version}`],
  ["a folder with other files", "mine.txt", [], "contains other files; use an empty folder"],
])("release:dry rejects %s, and changes nothing", async (_, file, args, message) => {
  const out = await makeFolder();
  await writeFile(join(out, file), "mine");
  const { exitCode, stderr } = await runTool("main", [...args, "--out", out]);
  expect(stderr).toContain(message);
  expect(stderr).not.toContain(" at ");
  expect(exitCode).toBe(1);
  expect(await readFile(join(out, file), "utf8")).toBe("mine");
});
test("the set-up of a release runs npm ci, which installs exactly what the lock file lists", async () => {
  const folder = await makeFolder();
  for (const path of ["tools/setup.mjs", "tools/lib/progress.mjs"]) await cp(root + path, join(folder, path));
  await writeFile(join(folder, "npm"), '#!/bin/sh\necho "npm $*"\nexit 1\n', { mode: 0o755 });
  const env = { PATH: `${folder}${delimiter}${process.env["PATH"]}` };
  const { stderr } = await execa("node", ["tools/setup.mjs"], { cwd: folder, env, reject: false });
  expect(stderr).toMatch(/^npm ci /m);
});

test("npm and git ignore the files that a user of an example creates", async () => {
  const folder = await makeFolder();
  await cp(join(root, "package.json"), join(folder, "package.json"));
  const created = ["kubernetes/key-seed", "docker-compose/key-seed", "nats/nats/jetstream/messages"];
  const examples = created.map((file) => file.split("/")[0] ?? "");
  // The repository's own .gitignore is not copied, because a user copies only an example into a project.
  for (const example of examples)
    await cp(join(root, "examples", example), join(folder, "examples", example), { recursive: true });
  for (const file of created) {
    await mkdir(join(folder, "examples", file, ".."), { recursive: true });
    await writeFile(join(folder, "examples", file), "secret");
  }
  const $ = execa({ cwd: folder });
  await $`git init --quiet`;
  const { stdout: found } = await $`git ls-files --others --exclude-standard examples`;
  const { stdout: packed } = await $`npm pack --dry-run --json --ignore-scripts`;
  for (const paths of [found, packed]) {
    for (const example of examples) expect(paths).toContain(`examples/${example}/README.md`);
    for (const file of created) expect(paths).not.toContain(`examples/${file}`);
  }
});

test("npm accepts the lock file of examples/docker, which contains a hash of every package except ours", async () => {
  const folder = await makeFolder();
  for (const name of ["package.json", "package-lock.json"])
    await cp(join(root, "examples/docker", name), join(folder, name));
  await execa("npm", ["ci", "--dry-run", "--offline"], { cwd: folder });
  const lock = JSON.parse(await readFile(join(folder, "package-lock.json"), "utf8")) as {
    packages: Record<string, { integrity?: string }>;
  };
  const bare = Object.keys(lock.packages).filter((path) => lock.packages[path]?.integrity === undefined);
  expect(bare).toEqual(["", "node_modules/pulumi-apichat"]);
  const dockerfile = await readFile(join(root, "examples/docker/Dockerfile"), "utf8");
  expect(dockerfile).toContain(`PACKAGE=pulumi-apichat@${packageJson.version}\n`);
});

describe("the bills of materials", () => {
  interface Bill {
    components: { name: string }[];
  }

  /** A bill's schema refers to other schemas by names with this prefix. */
  const BASE = "http://cyclonedx.org/schema/";
  const schemas = dirname(fileURLToPath(import.meta.resolve("@cyclonedx/cyclonedx-library/package.json")));
  const readSchema = async (name: string): Promise<object> =>
    JSON.parse(await readFile(join(schemas, `res/schema/${name}.SNAPSHOT.schema.json`), "utf8")) as object;

  async function readBill(path: string): Promise<string[]> {
    const ajv = new Ajv({ strict: false, validateFormats: false });
    for (const name of ["spdx", "jsf-0.82"])
      ajv.addSchema(await readSchema(name), `${BASE}${name}.SNAPSHOT.schema.json`);
    const bill = JSON.parse(await readFile(path, "utf8")) as Bill;
    ajv.validate(await readSchema("bom-1.5"), bill);
    expect(ajv.errors).toBeNull();
    return bill.components.map(({ name }) => name);
  }

  test("for the plugin, list exactly the packages in its bundle", async () => {
    const bundle = await readFile(`${root}plugin/main.js`, "utf8");
    const paths = bundle.matchAll(/"node_modules\/((?:@[^/"]+\/)?[^/"]+)/g);
    const bundled = new Set([...paths].map(([, name = ""]) => name));
    expect(await readBill(`${root}plugin/sbom.cdx.json`)).toEqual(
      [...bundled].toSorted((one, other) => (one < other ? -1 : 1)),
    );
    const licences = await readFile(`${root}plugin/licenses.txt`, "utf8");
    expect([...bundled].filter((name) => !`\n${licences}`.includes(`\n${name}\n\n`))).toEqual([]);
  });

  test("for the npm package, list the packages that npm installs and those in the bundles", async () => {
    const folder = await makeFolder();
    await writeBill(root, folder);
    const names = await readBill(join(folder, "pulumi-apichat.cdx.json"));
    const bundled = ["@grpc/grpc-js", "preact"];
    expect(names).toEqual(expect.arrayContaining([...Object.keys(packageJson.dependencies), ...bundled]));
    expect(names).not.toContain("vitest");
    expect(names).toEqual([...new Set(names)]);
  });
});

describe("tools/release/publish.ts", () => {
  const packages = ["pulumi-apichat", "pulumi-apichat-sdk"];

  async function makeRelease(): Promise<string> {
    const [folder, content] = [await makeFolder(), await makeFolder()];
    await mkdir(join(content, "package"));
    for (const name of packages) {
      await writeFile(join(content, "package/package.json"), JSON.stringify({ name, version }));
      await packFolder(content, join(folder, `${name}-${version}.tgz`));
    }
    const module = await makeFolder();
    await writeFile(join(module, "go.mod"), "module github.com/acme/hooks/sdk/go\n\ngo 1.25\n");
    await packFolder(module, join(folder, `apichat-go-v${version}.tar.gz`));
    await writeFile(join(folder, "release-notes.md"), "New.\n");
    return folder;
  }

  test("publishes both packages to npm, and skips packages that are already published", async () => {
    const published = new Map<string, unknown>();
    const put = ({ path, body }: Received): void => void published.set(path, JSON.parse(body));
    const registry = await startServer((request, response) => {
      if (request.method === "PUT") put(request);
      const found = published.get(request.path);
      response.writeHead(found === undefined ? 404 : 200, { "content-type": "application/json" });
      response.end(JSON.stringify(found ?? { error: "not found" }));
    });
    const [release, home] = [await makeRelease(), await makeFolder()];
    const token = `${registry.url.slice("http:".length)}/:_authToken=x`;
    await writeFile(join(home, ".npmrc"), `registry=${registry.url}/\n${token}\ncache=${home}/cache\n`);
    const options = { cwd: home, env: { NPM_CONFIG_USERCONFIG: join(home, ".npmrc") } };
    expect(await runTool("publish", ["npm", release], options)).toMatchObject({ exitCode: 0 });
    expect([...published]).toEqual(
      packages.map((name) => [
        `/${name}`,
        expect.objectContaining({ access: "public", "dist-tags": { latest: version } }),
      ]),
    );
    const { all } = await runTool("publish", ["npm", release], options);
    expect(all).toBe(packages.map((name) => `${name} ${version} is already published`).join("\n"));
    expect(registry.requests.filter(({ method }) => method === "PUT")).toHaveLength(2);
  });

  test("uploads every file to GitHub", async () => {
    const [release, bin] = [await makeRelease(), await makeFolder()];
    const gh = '#!/bin/sh\necho "$@" > "$0.created"\n';
    await writeFile(join(bin, "gh"), gh);
    await chmod(join(bin, "gh"), 0o755);
    const env = { PATH: `${bin}${delimiter}${process.env["PATH"]}` };
    expect(await runTool("publish", ["github", release], { env })).toMatchObject({ exitCode: 0 });
    const files = [`apichat-go-v${version}.tar.gz`, ...packages.map((name) => `${name}-${version}.tgz`)];
    const paths = [...files, "release-notes.md"].map((name) => join(release, name));
    const notes = `--title v${version} --notes-file ${release}/release-notes.md`;
    const created = `release create v${version} --verify-tag ${notes} ${paths.join(" ")}\n`;
    expect(await readFile(join(bin, "gh.created"), "utf8")).toBe(created);
  });

  test("creates and tags the same commit each time; the commit contains the Go module", async () => {
    const [release, remote, clone] = [await makeRelease(), await makeFolder(), await makeFolder()];
    await git(remote, "init", "--quiet", "--bare");
    await git(clone, "clone", "--quiet", remote, ".");
    await writeFile(join(clone, ".gitignore"), "/sdk/\n");
    await git(clone, "add", ".");
    await git(clone, "config", "user.name", "Ana");
    await git(clone, "config", "user.email", "ana@acme.example");
    await git(clone, "commit", "--quiet", "-m", "First");
    const tag = `sdk/go/v${version}`;
    const tagged: string[] = [];
    for (const _ of ["first", "again"]) {
      expect(await runTool("publish", ["go", release], { cwd: clone })).toMatchObject({ exitCode: 0 });
      tagged.push(await git(remote, "rev-parse", tag));
    }
    expect(tagged[1]).toBe(tagged[0]);
    expect(await git(remote, "ls-tree", "-r", "--name-only", tag)).toBe(".gitignore\nsdk/go/go.mod");
    expect(await git(clone, "status", "--porcelain")).toBe("");
  });
});
