import { createReadStream } from "node:fs";
import { mkdir, readFile, stat, writeFile } from "node:fs/promises";
import { createSecureServer, type Http2SecureServer } from "node:http2";
import type { AddressInfo } from "node:net";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { execa } from "execa";
import packageJson from "pulumi-apichat/package.json" with { type: "json" };
import { afterAll, beforeAll, expect, test } from "vitest";
import { resolveEngine } from "../../tools/engine/resolve.ts";
import { writeArchive } from "../../tools/plugin-archives/archives.ts";
import { PLATFORMS, type Platform } from "../../tools/plugin-archives/platforms.ts";
import { writeSums } from "../../tools/release/sums.ts";
import { openProgramFolder, type ProgramFolder } from "../support/program-folder.ts";
import { responderEnvironment, respondersOn } from "../support/responder.ts";
import { createBackend, type Backend } from "../support/stack.ts";

const certificate = (name: string): string =>
  fileURLToPath(new URL(`../fixtures/certificates/${name}`, import.meta.url));

const platform = `${process.platform}-${process.arch.replace("x64", "amd64")}` as Platform;

let backend: Backend;
let archive: string;
let server: Http2SecureServer;
let serverUrl: string;
const downloads: string[] = [];

beforeAll(async () => {
  backend = await createBackend();
  const outFolder = join(backend.folder, "archives");
  archive = await writeArchive(platform, { outFolder, signal: new AbortController().signal });
  await writeSums(outFolder);
  server = await serveArchive();
  serverUrl = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
});

afterAll(() => server?.close());

/** HTTP/2, as the hosts of releases speak: over HTTP/1.1 the engine finds every checksum wrong, because it skips the last bytes. */
async function serveArchive(): Promise<Http2SecureServer> {
  const { size } = await stat(archive);
  const [key, cert] = await Promise.all(
    ["server.key", "good.crt"].map((name) => readFile(certificate(name))),
  );
  const created = createSecureServer({ key: key ?? "", cert: cert ?? "" }, ({ url }, response) => {
    downloads.push(url);
    response.setHeader("content-length", size);
    createReadStream(archive).pipe(response);
  });
  return new Promise((resolve) => created.listen(0, "127.0.0.1", () => resolve(created)));
}

/** A program that names nothing but version and server; its machine has no Node on PATH. */
async function openProgram(): Promise<ProgramFolder> {
  const path = join(backend.folder, "program");
  await mkdir(path);
  const options = `{ version: ${packageJson.version}, pluginDownloadURL: "${serverUrl}" }`;
  await writeFile(
    join(path, "Pulumi.yaml"),
    `name: downloads
runtime: yaml
resources:
  key:
    type: apichat:VerificationKey
    options: ${options}
  responder:
    type: apichat:Responder
    options: ${options}
    properties: { workspaces: { acme: { verificationKeys: "\${key.keys}" } } }
outputs:
  health: \${responder.healthUrl}
`,
  );
  return openProgramFolder(backend, path, {
    ...responderEnvironment(backend),
    PATH: (await resolveEngine()).directory,
    PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION: "false",
    SSL_CERT_FILE: certificate("authority.crt"),
  });
}

// The engine takes another authority from a file on Linux only.
test.runIf(process.platform === "linux")(
  "the engine downloads the archive of its platform, checks it, and runs it without another Node",
  async () => {
    const program = await openProgram();
    const sums = await readFile(join(archive, "../SHA256SUMS"), "utf8");
    const sum = sums.split("\n").find((line) => line.endsWith(`  ${basename(archive)}`));
    const install = `plugin install resource apichat ${packageJson.version} --server ${serverUrl} --checksum`;
    expect(await program.fails(...install.split(" "), "00".repeat(32))).toContain(sum?.slice(0, 64));
    expect(await program.run("plugin", "ls", "--json")).toBe("[]");

    await program.run("stack", "init", "dev");
    const output = await program.run("up", "--yes", "--skip-preview");
    expect(downloads).toEqual([1, 2].map(() => `/${basename(archive)}`));
    const [health = ""] = /http:\S+healthz/.exec(output) ?? [];
    expect((await fetch(health)).status).toBe(200);
    await program.run("destroy", "--yes", "--skip-preview");
    expect(await respondersOn(backend.folder)).toEqual([]);
    expect(downloads).toHaveLength(2);
  },
);

test("the bill of materials in an archive lists its Node", async () => {
  const { stdout } = await execa("tar", ["-xzOf", archive, "sbom.cdx.json"]);
  const { components } = JSON.parse(stdout) as { components: object[] };
  const { name, version } = PLATFORMS[platform];
  const ofNode = {
    purl: `pkg:npm/${name}@${version}`,
    hashes: [{ alg: "SHA-512", content: expect.any(String) as unknown }],
  };
  expect(components.at(-1)).toMatchObject(ofNode);
  expect(components.length).toBeGreaterThan(20);
});
