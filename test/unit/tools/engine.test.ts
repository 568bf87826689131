import { readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { execa } from "execa";
import { describe, expect, test } from "vitest";
import { findEngine } from "../../../tools/engine/engine.ts";
import { engineEnvironment, exportLine } from "../../../tools/engine/environment.ts";
import type { EngineMaker } from "../../../tools/engine/makers.ts";
import { cacheEntry } from "../../../tools/engine/cache.ts";
import { resolveEngine } from "../../../tools/engine/resolve.ts";
import { makeFolder, writeFakeEngine, writeScript } from "./fixtures/fakes.ts";

function fakeMaker(name: string, make: EngineMaker["make"]): EngineMaker {
  return { name, title: name, make };
}

const writesEngine: EngineMaker["make"] = async (folder) => writeFakeEngine(join(folder, "bin"), "v3.259.0");

/** The system's own folders hold the shell that the fakes are written in, and no pulumi. */
function environmentOf(...folders: string[]): NodeJS.ProcessEnv {
  return {
    PATH: [...folders, "/usr/bin", "/bin"].join(":"),
    XDG_CACHE_HOME: makeFolder(),
    HOME: "/nonexistent",
  };
}

describe("the engine on PATH", () => {
  test("is taken with its version and folder, and a terminal has it from the line that is printed", async () => {
    const folder = makeFolder();
    writeFakeEngine(folder, "v3.220.1");
    const engine = await findEngine(environmentOf(folder));
    const command = join(folder, "pulumi");
    expect(engine).toEqual({ command, directory: folder, version: "3.220.1", source: "path" });
    const commands = `${exportLine(engine)}\npulumi version\nnode --version`;
    const { stdout } = await execa("sh", ["-c", commands], { env: { PATH: "/usr/bin:/bin" } });
    expect(stdout).toMatch(/^v3\.220\.1\nv24\.\d+\.\d+$/);
  });

  test.each(["v3.99.10", "v3.215.0", "v4.0.0"])("is refused if it is %s", async (version) => {
    const folder = makeFolder();
    writeFakeEngine(folder, version);
    await expect(findEngine(environmentOf(folder))).rejects.toThrow(
      "accepted are 3.216.0 and newer, before 4",
    );
  });

  test("is refused without its Node.js host", async () => {
    const folder = makeFolder();
    writeScript(join(folder, "pulumi"), "echo v3.259.0");
    await expect(findEngine(environmentOf(folder))).rejects.toThrow("pulumi-language-nodejs is neither");
  });

  test("gives way to the one that PULUMI_APICHAT_ENGINE names", async () => {
    const [named, onPath] = [makeFolder(), makeFolder()];
    writeFakeEngine(named, "v3.230.0");
    writeFakeEngine(onPath, "v3.240.0");
    const env = { ...environmentOf(onPath), PULUMI_APICHAT_ENGINE: join(named, "pulumi") };
    expect((await resolveEngine({ env })).version).toBe("3.230.0");
  });

  test("named but unusable is an error, not a reason to look elsewhere", async () => {
    const env = { ...environmentOf(), PULUMI_APICHAT_ENGINE: "/nonexistent/pulumi" };
    await expect(resolveEngine({ env, makers: [] })).rejects.toThrow("PULUMI_APICHAT_ENGINE: ");
  });
});

describe("an engine that is not there", () => {
  test("comes from the first maker that works, from an empty folder, and is cached", async () => {
    const env = environmentOf();
    const asked: string[] = [];
    const failing = fakeMaker("failing", async (folder) => {
      asked.push("failing");
      writeFileSync(join(folder, "bin", "half"), "");
      throw new Error("no network");
    });
    const working = fakeMaker("working", async (folder, context) => {
      asked.push("working");
      expect(readdirSync(join(folder, "bin"))).toEqual([]);
      await writesEngine(folder, context);
    });
    const unasked = fakeMaker("unasked", async () => void asked.push("unasked"));
    const first = await resolveEngine({ env, makers: [failing, working, unasked] });
    const second = await resolveEngine({ env, makers: [unasked] });
    expect(first).toMatchObject({ version: "3.259.0", source: "cache" });
    expect(second).toEqual(first);
    expect(asked).toEqual(["failing", "working"]);
  });

  test("is an error that says what each way came to, and leaves nothing in the cache", async () => {
    const env = environmentOf();
    const offline = fakeMaker("the installer", () => Promise.reject(new Error("getaddrinfo ENOTFOUND")));
    const incomplete = fakeMaker("the build", async (folder) =>
      writeScript(join(folder, "bin", "pulumi"), "echo v3.259.0"),
    );
    const error: Error = await resolveEngine({ env, makers: [offline, incomplete] }).then(
      () => expect.fail("resolved"),
      (reason: Error) => reason,
    );
    expect(error.message).toContain("1. pulumi 3.216 or newer on PATH: there is no pulumi on PATH");
    expect(error.message).toContain("2. the installer: getaddrinfo ENOTFOUND");
    expect(error.message).toMatch(/3\. the build: .*pulumi-language-nodejs is neither beside it nor on PATH/);
    expect(readdirSync(join(env.XDG_CACHE_HOME ?? "", "pulumi-apichat", "engine"))).toEqual([]);
  });
});

test("the cache lies in XDG_CACHE_HOME, else in ~/.cache, under the hash of the module files", async () => {
  const file = join(makeFolder(), "go.mod");
  const entry = (env: NodeJS.ProcessEnv) => cacheEntry(env, "engine", [pathToFileURL(file)]);
  writeFileSync(file, "module one");
  const one = await entry({ HOME: "/home/u" });
  expect(one).toMatch(/^\/home\/u\/\.cache\/pulumi-apichat\/engine\/[0-9a-f]{16}$/);
  expect(await entry({ HOME: "/home/u", XDG_CACHE_HOME: "relative" })).toBe(one);
  expect(await entry({ XDG_CACHE_HOME: "/cache" })).toBe(one.replace("/home/u/.cache", "/cache"));
  writeFileSync(file, "module two");
  expect(await entry({ HOME: "/home/u" })).not.toBe(one);
});

test("a run's environment has Node 24 and the engine first on PATH, and none of the user's own Pulumi settings", () => {
  const directory = makeFolder();
  writeFakeEngine(directory, "v3.259.0");
  const engine = {
    command: join(directory, "pulumi"),
    directory,
    version: "3.259.0",
    source: "cache",
  } as const;
  const base = { PATH: "/bin", HOME: "/home/u", PULUMI_ACCESS_TOKEN: "token", APICHAT_API_KEY: "key" };
  const env = engineEnvironment(engine, { home: "/h", backend: "/state", passphrase: "p" }, base);
  const [binaries, ...others] = (env.PATH ?? "").split(":");
  expect(binaries).toMatch(/node_modules\/\.bin$/);
  expect(others).toEqual([directory, "/bin"]);
  expect(env).toMatchObject({
    HOME: "/home/u",
    PULUMI_BACKEND_URL: "file:///state",
    PULUMI_IGNORE_AMBIENT_PLUGINS: "true",
  });
  expect(env).not.toHaveProperty("PULUMI_ACCESS_TOKEN");
  expect(env).not.toHaveProperty("APICHAT_API_KEY");
});
