import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { runChecks } from "../../../provider/cli/doctor/checks.js";
import { makeFolder } from "../../support/folder.ts";

let folder: string;
beforeEach(async () => {
  folder = await makeFolder();
});
afterEach(() => void vi.unstubAllEnvs());

type Files = Record<string, string | object>;

/** Creates files in the folder; an object is written as JSON. */
async function write(files: Files): Promise<void> {
  for (const [name, content] of Object.entries(files)) {
    const path = join(folder, name);
    await mkdir(dirname(path), { recursive: true });
    const text = typeof content === "string" ? content : JSON.stringify(content);
    await writeFile(path, text, { mode: name.startsWith("bin/") ? 0o755 : 0o644 });
  }
}

/** A fake `pulumi`, in a folder that is on PATH, that runs this script. */
const pulumi = (script: string): Files => ({ "bin/pulumi": `#!/bin/sh\n${script}\n` });

/** Returns the findings by the name of their check. */
async function examine(from = ".") {
  vi.stubEnv("PATH", join(folder, "bin"));
  const findings = await runChecks(join(folder, from), new AbortController().signal);
  return Object.fromEntries(findings.map(({ name, ...finding }) => [name, finding]));
}

const text = (pattern: RegExp): { text: unknown } => ({ text: expect.stringMatching(pattern) });

const PROGRAM_FILES: Files = {
  ...pulumi("echo v3.250.0"),
  "Pulumi.yaml": "name: shop\nruntime:\n  name: nodejs\n",
};
const ON_PLUGIN: Files = {
  ...pulumi("echo v3.250.0"),
  "Pulumi.yaml": "name: shop\nruntime: go\npackages: { apichat: ./node_modules/pulumi-apichat/plugin }\n",
};

describe("apichat doctor in a folder", () => {
  it.each<[string, Files, fails?: Record<string, RegExp>, from?: string]>([
    ["a Node.js program", PROGRAM_FILES],
    ["a subfolder of a program", { ...PROGRAM_FILES, "infra/index.ts": "" }, {}, "infra"],
    ["the plugin", { ...ON_PLUGIN, "node_modules/pulumi-apichat/plugin/pulumi-resource-apichat": "" }],
    ["the plugin before npm install", ON_PLUGIN, { plugin: /does not exist/ }],
    ["invalid YAML", { ...PROGRAM_FILES, "Pulumi.yaml": "name: [\n" }, { plugin: /Pulumi\.yaml:\d/ }],
    ["an outdated pulumi", { ...PROGRAM_FILES, ...pulumi("echo v3.215.0") }, { "Pulumi CLI": /too old/ }],
    ["a pulumi that fails", { ...PROGRAM_FILES, ...pulumi("exit 3") }, { "Pulumi CLI": /failed/ }],
  ])("checks %s", async (_, files, fails = {}, from = ".") => {
    await write(files);
    const failed = Object.entries(await examine(from)).filter(([, { status }]) => status === "failed");
    const hint: unknown = expect.any(String);
    const expected = Object.entries(fails).map(([name, found]) => [
      name,
      { status: "failed", ...text(found), hint },
    ]);
    expect(failed).toEqual(expected);
  });

  const LISTED = [
    ["apichat", "0.1.0"],
    ["random", "4.0.0"],
    ["apichat", "0.2.0"],
  ].map(([name, version]) => ({ name, version }));
  it.each<[status: string, found: RegExp, script: string]>([
    ["ok", /^installed: 0\.1\.0, 0\.2\.0$/, `echo '${JSON.stringify(LISTED)}'`],
    ["warning", /^not installed$/, "echo []"],
    ["skipped", /^pulumi plugin ls failed$/, "exit 3"],
  ])("reports which versions of the plugin are installed, if any: %s, %s", async (status, found, script) => {
    await write({ ...pulumi(script), "Pulumi.yaml": "name: shop\nruntime: python\n" });
    expect((await examine())["plugin"]).toMatchObject({ status, ...text(found) });
  });
});
