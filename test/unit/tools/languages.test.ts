import { existsSync, readFileSync, readlinkSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { Engine } from "../../../tools/engine/engine.ts";
import { hasHost, prepareHosts } from "../../../tools/engine/languages.ts";
import { makeFakeGo, makeFolder, writeFakeEngine, writeScript } from "./fixtures/fakes.ts";

function fakeEngine(source: Engine["source"]): Engine {
  const directory = makeFolder();
  writeFakeEngine(directory, "v3.259.0");
  return { command: join(directory, "pulumi"), directory, version: "3.259.0", source };
}

test("a host is built once, into a cache entry of its own, and lies beside every cached engine that wants it", async () => {
  const { env, cache, log, gate } = makeFakeGo();
  writeFileSync(gate, "");
  const [one, other] = [fakeEngine("cache"), fakeEngine("cache")];
  await prepareHosts(one, ["yaml"], { env });
  await prepareHosts(one, ["yaml"], { env });
  await prepareHosts(other, ["yaml"], { env });
  expect(readFileSync(log, "utf8").trim().split("\n")).toHaveLength(1);
  expect([hasHost(one, "yaml"), hasHost(other, "yaml"), hasHost(one, "java")]).toEqual([true, true, false]);
  const host = readlinkSync(join(one.directory, "pulumi-language-yaml"));
  expect(host.startsWith(join(cache, "pulumi-apichat", "host-yaml"))).toBe(true);
  rmSync(host);
  expect(hasHost(one, "yaml")).toBe(false);
});

test("a link to a host of another version gives way, a host that came with the engine does not", async () => {
  const { env, log, gate } = makeFakeGo();
  writeFileSync(gate, "");
  const engine = fakeEngine("cache");
  const [yaml, java] = ["yaml", "java"].map((name) => join(engine.directory, `pulumi-language-${name}`)) as [
    string,
    string,
  ];
  symlinkSync("/bin/true", yaml);
  writeScript(java, "exit 0");
  await prepareHosts(engine, ["yaml", "java"], { env });
  expect(readlinkSync(yaml)).not.toBe("/bin/true");
  expect(readFileSync(java, "utf8")).toContain("exit 0");
  expect(readFileSync(log, "utf8").trim().split("\n")).toHaveLength(1);
});

test("the user's own engine is taken with the hosts that it brings, also behind a link, and nothing is built for it", async () => {
  const { env, log } = makeFakeGo();
  const engine = fakeEngine("path");
  writeScript(join(engine.directory, "pulumi-language-yaml"), "exit 0");
  const directory = makeFolder();
  symlinkSync(engine.command, join(directory, "pulumi"));
  const linked = { ...engine, directory, command: join(directory, "pulumi") };
  await prepareHosts(linked, ["yaml"], { env });
  await expect(prepareHosts(linked, ["go"], { env })).rejects.toThrow("pulumi-language-go");
  expect(existsSync(log)).toBe(false);
});

test("a host that cannot be built is an error that names the language and the reason", async () => {
  const engine = fakeEngine("cache");
  const env = { PATH: "/nonexistent", XDG_CACHE_HOME: makeFolder() };
  await expect(prepareHosts(engine, ["dotnet"], { env })).rejects.toThrow(/\.NET host .*no go on PATH/);
});
