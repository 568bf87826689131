import { existsSync, readFileSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { Engine } from "../../../tools/engine/engine.ts";
import { parseLanguages } from "../../../tools/engine/languages.ts";
import { generateSdk, isDistribution, sdkLanguages } from "../../../tools/sdk/generate.ts";
import { makeFolder, writeFakeEngine, writeScript } from "./fixtures/fakes.ts";

const { signal } = new AbortController();

/** A user's own engine, whose `package gen-sdk` copies the schema that it is given. */
function fakeEngine(genSdk = 'mkdir "$7/$5" && cp "$3" "$7/$5/schema.json"'): Engine {
  const directory = makeFolder();
  writeFakeEngine(directory, "v3.259.0");
  writeScript(join(directory, "pulumi"), genSdk);
  for (const language of ["java", "python"]) {
    writeScript(join(directory, `pulumi-language-${language}`), "exit 0");
  }
  return { command: join(directory, "pulumi"), directory, version: "3.259.0", source: "path" };
}

test("an engine of the user's own generates every SDK itself, from the schema with a logo of this machine", async () => {
  const into = makeFolder();
  await generateSdk("python", { engine: fakeEngine(), signal, into });
  const schema = JSON.parse(readFileSync(join(into, "python", "schema.json"), "utf8")) as object;
  expect(schema).toMatchObject({
    name: "apichat",
    logoUrl: expect.stringMatching(/^http:\/\/127\.0\.0\.1:/),
  });
  expect(readdirSync(into)).toEqual(["python"]);
});

test("an engine that the tools have built is none of Pulumi's distribution, whatever has it on PATH", () => {
  const engine = fakeEngine();
  const cache = makeFolder();
  const env = { XDG_CACHE_HOME: cache };
  expect(isDistribution(engine, env)).toBe(true);
  const host = join(engine.directory, "pulumi-language-python");
  const built = join(cache, "pulumi-apichat", "host-python", "0123", "bin", "pulumi-language-python");
  writeScript(built, "exit 0");
  rmSync(host);
  expect(isDistribution(engine, env)).toBe(false);
  symlinkSync(built, host);
  expect(isDistribution(engine, env)).toBe(false);
});

test("the Java SDK has the version that it reads when it starts", async () => {
  const into = makeFolder();
  await generateSdk("java", { engine: fakeEngine(), signal, into });
  const { version } = JSON.parse(readFileSync(join(into, "java", "schema.json"), "utf8")) as {
    version: string;
  };
  const resources = join(into, "java/src/main/resources/com/pulumi/apichat");
  expect(readFileSync(join(resources, "version.txt"), "utf8")).toBe(version);
});

test("an SDK goes only when the new one is whole", async () => {
  const into = makeFolder();
  await generateSdk("nodejs", { engine: fakeEngine(), signal, into });
  writeFileSync(join(into, "nodejs", "built"), "");
  const broken = fakeEngine('mkdir "$7/$5"; echo no disk; exit 1');
  await expect(generateSdk("nodejs", { engine: broken, signal, into })).rejects.toThrow("no disk");
  expect([readdirSync(into), existsSync(join(into, "nodejs", "built"))]).toEqual([["nodejs"], true]);
  await generateSdk("nodejs", { engine: fakeEngine(), signal, into });
  expect([readdirSync(into), existsSync(join(into, "nodejs", "built"))]).toEqual([["nodejs"], false]);
});

test("Ctrl-C ends the generator and leaves nothing", async () => {
  const [into, started] = [makeFolder(), join(makeFolder(), "started")];
  const controller = new AbortController();
  const engine = fakeEngine(`touch "${started}"; sleep 600`);
  const generating = generateSdk("nodejs", { engine, signal: controller.signal, into });
  await expect.poll(() => existsSync(started)).toBe(true);
  controller.abort(new Error("interrupted"));
  await expect(generating).rejects.toThrow("interrupted");
  expect(readdirSync(into)).toEqual([]);
});

test("languages are named with commas between them, and an unknown one is refused with those that there are", () => {
  expect(parseLanguages("--language", "go,java", sdkLanguages)).toEqual(["go", "java"]);
  expect(parseLanguages("--language", "all", sdkLanguages)).toEqual(sdkLanguages);
  expect(() => parseLanguages("--language", "go,cobol", sdkLanguages)).toThrow(/--language.*cobol.*dotnet/);
});
