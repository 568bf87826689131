import { readdir } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { makeWriter } from "./cli-harness.ts";
import { KEY, makeFolder, makeHome, startProgram } from "./program.ts";

/** The bundle in the npm package, as the engine finds it. */
const script = fileURLToPath(new URL("../../plugin/pulumi-resource-apichat", import.meta.url));

test.each([[["127.0.0.1:1"]], [[]]])("prints only a port, and ends with the engine: %j", async (words) => {
  // Like the folder of a Pulumi program, to which the plugin must not write.
  const cwd = await makeFolder();
  const environment = { HOME: "", XDG_CACHE_HOME: "caches" };
  const said = await startProgram(words, { script, environment, cwd }).ended;
  expect(await readdir(cwd)).toEqual([]);
  const stdout: unknown = expect.stringMatching(/^\d+\n$/);
  expect(said).toEqual({ exitCode: 0, signal: null, stdout, stderr: "" });
});

test.each([
  [
    "--help",
    /^pulumi-resource-apichat \d+\.\d+\.\d+: .*\n[^]*responder --config[^]*npx --package pulumi-apichat apichat/,
  ],
  ["-h", /^pulumi-resource-apichat \d/],
  ["--version", /^\d+\.\d+\.\d+\n$/],
])("the plugin with %s prints its help or version, and ends", async (word, shown) => {
  const said = await startProgram([word], { script }).ended;
  expect(said).toEqual({
    exitCode: 0,
    signal: null,
    stdout: expect.stringMatching(shown) as unknown,
    stderr: "",
  });
});

test("the plugin reports why a responder does not start, without printing a key", async () => {
  const { configFile } = await makeHome({ port: "none" });
  const { exitCode, stderr } = await startProgram(["responder", "--config", configFile], { script }).ended;
  expect(exitCode).toBe(1);
  expect(stderr).toMatch(/^error: \S+config\.json: port: /);
  expect(stderr).not.toContain(KEY);
});

test("the plugin reports an unsupported Node before it loads the bundle", async () => {
  const writeFile = await makeWriter();
  const pretend = 'Object.defineProperty(process.versions, "node", { value: "20.20.2" });';
  const NODE_OPTIONS = `--import=${await writeFile("pretend.mjs", pretend)}`;
  const said = await startProgram(["127.0.0.1:1"], { script, environment: { NODE_OPTIONS } }).ended;
  expect(said).toMatchObject({ exitCode: 1, stdout: "" });
  expect(said.stderr).toMatch(
    /^error: pulumi-resource-apichat needs Node \d+\.\d+ or newer, but this is 20\.20\.2;.*\n$/,
  );
});
