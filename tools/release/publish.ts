/**
 * `node tools/release/publish.ts PLACE FOLDER`: publishes the output of `npm run release:dry` to one place.
 * release.yaml has a job for each place; a failed job can be run again. This program imports no packages: a
 * malicious one could use the permission to publish.
 */
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempDisposableSync, readdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import process from "node:process";
import packageJson from "../../package.json" with { type: "json" };

const { version } = packageJson;
const tag = `v${version}`;
const isPrerelease = version.includes("-");

const places: Record<string, (folder: string) => void> = { npm, github, go };

try {
  const [place = "", folder = ""] = process.argv.slice(2);
  const publish = places[place];
  if (publish === undefined || folder === "")
    throw new Error(`usage: publish.ts ${Object.keys(places).join("|")} FOLDER`);
  publish(resolve(folder));
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}

/** Publishes the package, and the SDK for Node.js. */
function npm(folder: string): void {
  for (const file of readdirSync(folder).filter((name) => name.endsWith(".tgz"))) {
    const path = join(folder, file);
    const { name } = JSON.parse(run("tar", ["-xzOf", path, "package/package.json"])) as { name: string };
    if (isOnNpm(name)) console.log(`${name} ${version} is already published`);
    else run("npm", ["publish", path, "--access", "public", "--tag", isPrerelease ? "next" : "latest"]);
  }
}

function isOnNpm(name: string): boolean {
  try {
    return run("npm", ["view", `${name}@${version}`, "version", "--loglevel=silent"]) === version;
  } catch {
    // If `npm view` fails, let `npm publish` report the reason.
    return false;
  }
}

/** Creates a release with every file. The engine downloads the archives of the plugin from it. */
function github(folder: string): void {
  const notes = ["--title", tag, "--notes-file", join(folder, "release-notes.md")];
  const files = readdirSync(folder).map((name) => join(folder, name));
  const kind = isPrerelease ? ["--prerelease"] : [];
  run("gh", ["release", "create", tag, "--verify-tag", ...notes, ...kind, ...files]);
}

/** Commits the Go module's folder on top of the released commit, and pushes a tag of the result, which Go reads. */
function go(folder: string): void {
  using scratch = mkdtempDisposableSync(join(tmpdir(), "apichat-go-"));
  const archive = join(folder, `apichat-go-${tag}.tar.gz`);
  const [, path = ""] =
    /^module github\.com\/[^/]+\/[^/]+\/(.+)$/m.exec(run("tar", ["-xzOf", archive, "go.mod"])) ?? [];
  if (path === "") throw new Error(`${archive} was built without --repository, so nobody could install it`);
  const module = join(scratch.path, "tree", path);
  mkdirSync(module, { recursive: true });
  run("tar", ["-xzf", archive, "-C", module]);
  // With the released commit's author and date, so every run creates the same commit. The clone does not change.
  const [name = "", email = "", date = ""] = run("git", ["log", "-1", "--format=%an%n%ae%n%aI"]).split("\n");
  const env = { GIT_INDEX_FILE: join(scratch.path, "index"), GIT_WORK_TREE: join(scratch.path, "tree") };
  for (const role of ["AUTHOR", "COMMITTER"])
    Object.assign(env, {
      [`GIT_${role}_NAME`]: name,
      [`GIT_${role}_EMAIL`]: email,
      [`GIT_${role}_DATE`]: date,
    });
  const git = (...args: string[]): string => run("git", args, env);
  git("read-tree", "HEAD");
  git("add", "--force", path);
  const commit = git("commit-tree", git("write-tree"), "-p", "HEAD", "-m", `Go module ${tag}`);
  const helper = ["-c", "credential.helper=!gh auth git-credential"];
  git(...helper, "push", "origin", `${commit}:refs/tags/${path}/${tag}`);
}

/** Returns the stdout of the command. Its errors go to stderr. */
function run(command: string, args: string[], added = {}): string {
  const env = { ...process.env, ...added };
  return execFileSync(command, args, { encoding: "utf8", env, stdio: ["ignore", "pipe", "inherit"] }).trim();
}
