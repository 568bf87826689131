/**
 * Builds the image of examples/docker with buildah and runs it with podman. Skipped if one of them is not
 * installed.
 */
import { realpathSync } from "node:fs";
import { chmod, cp, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { execa } from "execa";
import { expect, it } from "vitest";
import { createHandshake } from "pulumi-apichat/responder";
import packageJson from "pulumi-apichat/package.json" with { type: "json" };
import { findExecutable, pathFolders } from "../../tools/engine/engine.ts";
import { afterTests, freePort } from "../support/http.ts";
import { packPackage } from "../support/packed-package.ts";
import { startReceiver } from "../support/receiver.ts";
import { deliverTo } from "../support/responder.ts";

const EXAMPLE = fileURLToPath(new URL("../../examples/docker", import.meta.url));
const KEY = "a-key-that-nobody-guesses";
const has = (command: string): boolean => findExecutable(command, pathFolders()) !== undefined;

it("the image runs unprivileged on a read-only file system, obeys SIGTERM, and keeps deliveries on its volume", async ({
  skip,
}) => {
  skip(!has("buildah") || !has("podman"), "buildah or podman is not installed");
  const folder = await mkdtemp(join(tmpdir(), "pulumi-apichat-image-"));
  const store = ["--root", join(folder, "root"), "--runroot", join(folder, "run"), "--storage-driver", "vfs"];
  const $ = execa({ all: true });
  afterTests(async () => {
    await $`podman ${store} rm --all --force --volumes`;
    await $`podman ${store} rmi --all --force`;
    await rm(folder, { recursive: true, force: true });
  });
  const how = ["--isolation", "chroot", "--network", "host", "--format", "docker"];
  const build = (context: string, tag: string, ...options: string[]) =>
    $`buildah ${store} build ${how} --tag localhost/${tag} ${options} ${context}`;
  const bases = await makeBases(join(folder, "bases"));
  await build(bases, "build-base", "--target", "build");
  await build(bases, "runtime-base", "--target", "runtime");
  const packed = await packPackage();
  const settings = {
    BUILD_IMAGE: "localhost/build-base",
    RUNTIME_IMAGE: "localhost/runtime-base",
    PACKAGE: `/context/${packageJson.name}-${packageJson.version}.tgz`,
  };
  const settingOptions = Object.entries(settings).map(([name, value]) => `--build-arg=${name}=${value}`);
  await cp(EXAMPLE, packed.folder, { recursive: true });
  await build(packed.folder, "responder", ...settingOptions);

  const receiver = await startReceiver();
  receiver.answerWith(503);
  const port = await freePort();
  const origin = `http://127.0.0.1:${port}`;
  const config = join(folder, "responder.json");
  const workspaces = { acme: { verificationKeys: KEY, forwardTo: receiver.url } };
  await writeFile(config, JSON.stringify({ port, dataDir: "/var/lib/apichat", workspaces }));
  /** Disables control groups if there is no runc: the test does not need them, and not every kernel allows them. */
  const groups = has("runc") ? ["--runtime", "runc"] : ["--cgroups", "disabled"];
  const limits = ["--ulimit", "nofile=1024:1024", "--ulimit", "nproc=1024:1024"];
  const isolation = ["--read-only", "--read-only-tmpfs=false", "--cap-drop=ALL", ...groups, ...limits];
  const volumes = ["--volume=data:/var/lib/apichat", `--volume=${config}:/etc/apichat/responder.json:ro`];
  const health = () => fetch(`${origin}/healthz`).then(({ status }) => status, String);
  const start = async (name: string): Promise<void> => {
    await $`podman ${store} run --detach --name ${name} --network host ${isolation} ${volumes} localhost/responder`;
    await expect.poll(health).toBe(200);
  };

  await start("first");
  const handshake = await fetch(createHandshake({ url: `${origin}/acme`, verificationKey: KEY }));
  expect(handshake.status).toBe(200);
  expect(await deliverTo(`${origin}/acme`, KEY)).toBe(200);
  await $`podman ${store} healthcheck run first`;
  const { stdout: pid } = await $`podman ${store} inspect --format {{.State.Pid}} first`;
  const status = await readFile(`/proc/${pid}/status`, "utf8");
  expect(status).toMatch(/^CapEff:\t0+$/m);
  const inFirst = async (...command: string[]) =>
    (await $({ reject: false })`podman ${store} exec ${command}`).all;
  expect(await inFirst("first", "node", "-p", "process.getuid()")).toBe("65532");
  // Even root cannot write.
  const write = "fs.writeFileSync('/app/file', '')";
  expect(await inFirst("--user=0", "first", "node", "-e", write)).toContain("EROFS");
  expect(await inFirst("first", "/bin/sh", "-c", "true")).toMatch(/no such file|not found/);
  const list = ["responder", "deliveries", "--config", "/etc/apichat/responder.json"];
  expect(await inFirst("first", "node", "apichat", ...list)).toContain("acme");

  // The container must end by itself. Otherwise podman kills it after this time, and its exit code is 137.
  await $`podman ${store} stop --time 60 first`;
  expect((await $`podman ${store} inspect --format {{.State.ExitCode}} first`).stdout).toBe("0");
  receiver.answerWith(200);
  const before = receiver.received.length;
  await start("second");
  await expect.poll(() => receiver.received.length).toBeGreaterThan(before);
  expect(new Set(receiver.received.map(({ id }) => id)).size).toBe(1);
});

/**
 * Makes a build context for two base images. They replace the public ones, which only a registry has. One
 * contains this machine's own Node and its libraries; the other also contains npm and a shell.
 */
async function makeBases(folder: string): Promise<string> {
  const put = async (source: string, target: string): Promise<void> => {
    await mkdir(dirname(join(folder, target)), { recursive: true });
    await cp(source, join(folder, target), { recursive: true, dereference: true });
  };
  await put(process.execPath, "runtime/nodejs/bin/node");
  for (const binary of [process.execPath, "/bin/sh"]) {
    const { stdout } = await execa("ldd", [binary]);
    for (const [library] of stdout.matchAll(/\/\S+/g)) await put(library, join("runtime", library));
  }
  await put("/bin/sh", "build/bin/sh");
  const npm = realpathSync(findExecutable("npm", pathFolders()) ?? "");
  await put(dirname(dirname(npm)), "build/npm");
  await put("/etc/ssl/certs/ca-certificates.crt", "build/ca.crt");
  await writeFile(join(folder, "build/bin/npm"), '#!/bin/sh\nexec node /npm/bin/npm-cli.js "$@"\n');
  await chmod(join(folder, "build/bin/npm"), 0o755);
  const lines = [
    "FROM scratch AS runtime",
    "COPY runtime /",
    "FROM runtime AS build",
    "COPY build /",
    "ENV PATH=/nodejs/bin:/bin NODE_EXTRA_CA_CERTS=/ca.crt",
  ];
  await writeFile(join(folder, "Dockerfile"), lines.join("\n"));
  return folder;
}
