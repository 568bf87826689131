import { readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { beforeEach, expect, test, vi } from "vitest";
import { PROGRAM_FILE_VARIABLE, ProgramError, type ProgramFile } from "../../../provider/fleet/declare.ts";
import type { Declared, WebhookArguments } from "../../../provider/fleet/definition.ts";
import { toYaml, writeYamlProgram } from "../../../provider/fleet/yaml-program.ts";
import { findWire } from "../../../provider/lib/provider-process.ts";
import { makeFolder } from "./harness.ts";

const SEED = "c2VlZC1vZi10aGUtdGVzdHMtMDEyMzQ1Njc4OTAxMjM0NQ==";
const baseUrl = "https://platform.example/acme/apichat";
const webhookUrl = "https://chat.example/acme";
const withKey = (webhookVerificationKey: WebhookArguments["webhookVerificationKey"]): WebhookArguments => ({
  baseUrl,
  webhookUrl,
  webhookVerificationKey,
});

const keyOf = (name: string) => ({
  type: "apichat:VerificationKey",
  name,
  properties: { derivedFrom: "${secret0}", rotations: ["r2", "r1"] },
});
const webhookOf = (name: string, properties: object) => ({
  type: "apichat:ApiChatWebhook",
  name,
  properties: { baseUrl, webhookUrl, ...properties },
});
const hidden = (value: unknown) => ({ "fn::secret": value });

test("a workspace becomes a webhook and its key, with the secrets apart, each once", () => {
  const derived = { derivedFrom: SEED, rotations: ["r2", "r1"] };
  const program = toYaml({
    "acme.1": { ...withKey(derived), apiKey: "key-${of}-acme", webhookUrl: `${webhookUrl}?token=t` },
    globex: { ...withKey(derived), onExisting: "replace", timeouts: { readySeconds: 1 } },
    initech: withKey("a-key-of-its-own"),
  });
  expect(program).toEqual({
    variables: {
      secret0: hidden([SEED]),
      secret1: hidden(`${webhookUrl}?token=t`),
      secret2: hidden("key-$${of}-acme"),
      secret3: hidden("a-key-of-its-own"),
    },
    resources: {
      key0: keyOf("acme.1"),
      webhook0: webhookOf("acme.1", {
        apiKey: "${secret2}",
        webhookUrl: "${secret1}",
        webhookVerificationKey: "${key0.current}",
      }),
      key1: keyOf("globex"),
      webhook1: webhookOf("globex", {
        onExisting: "replace",
        timeouts: { readySeconds: 1 },
        webhookVerificationKey: "${key1.current}",
      }),
      webhook2: webhookOf("initech", { webhookVerificationKey: "${secret3}" }),
    },
    outputs: {
      botUrls: {
        "acme.1": "${webhook0.botUrl}",
        globex: "${webhook1.botUrl}",
        initech: "${webhook2.botUrl}",
      },
      statuses: {
        "acme.1": "${webhook0.status}",
        globex: "${webhook1.status}",
        initech: "${webhook2.status}",
      },
    },
  });
});

test.each([
  ["a resource", { acme: { botUrl: "b", status: "s" } }, /makes no resource/],
  ["a promise", { acme: withKey({ derivedFrom: Promise.resolve(SEED) as never }) }, /acme: .*derivedFrom/],
])("%s is refused", (_, declared: Record<string, Declared>, message) => {
  expect(() => toYaml(declared)).toThrow(ProgramError);
  expect(() => toYaml(declared)).toThrow(message);
});

let folder: string;
beforeEach(async () => {
  ({ folder } = await makeFolder());
  vi.spyOn(process, "chdir").mockReturnValue();
  return () => {
    vi.restoreAllMocks();
    vi.unstubAllEnvs();
    process.exitCode = undefined;
  };
});

/** Writes the YAML of a program, or of outputs; gives it, and what was printed. */
async function write(given: { program: string; refuseRandomKeys?: boolean } | { outputs: object }) {
  const path = join(folder, "program.json");
  const source = "program" in given ? given.program : "";
  const module = join(folder, "program.mjs");
  await writeFile(module, source);
  const stack = { name: "s", index: 0, rotations: [], workspaces: [{ name: "acme", baseUrl }] };
  const run = { program: pathToFileURL(module).href, stack, refuseRandomKeys: false };
  await writeFile(path, JSON.stringify({ ...run, ...given, program: run.program } satisfies ProgramFile));
  if ("outputs" in given) await writeFile(path, JSON.stringify(given));
  vi.stubEnv(PROGRAM_FILE_VARIABLE, path);
  const printed = [vi.spyOn(console, "log"), vi.spyOn(console, "error")].map((spy) =>
    spy.mockReturnValue(undefined),
  );
  const target = join(folder, "Main.json");
  await writeYamlProgram(target);
  await expect(stat(path)).rejects.toThrow("ENOENT");
  const text = await readFile(target, "utf8").catch(() => "null");
  const lines = printed.flatMap((spy) => spy.mock.calls.map(([line]) => String(line)));
  return { program: JSON.parse(text) as unknown, lines, code: process.exitCode };
}

const RANDOM = `export default () => ({ acme: { webhookUrl: "${webhookUrl}", webhookVerificationKey: {} } });`;

test("the program of a run is written as YAML, and its file is gone", async () => {
  expect(await write({ program: RANDOM })).toMatchObject({
    program: { resources: { key0: { name: "acme" }, webhook0: { name: "acme" } } },
    lines: [],
    code: undefined,
  });
  expect((await stat(join(folder, "Main.json"))).mode & 0o777).toBe(0o600);
});

test("outputs alone are written as they are", async () => {
  const { program } = await write({ outputs: { botUrls: { acme: "https://bots.example/${a}" } } });
  expect(program).toEqual({ outputs: { botUrls: { acme: "https://bots.example/$${a}" } } });
});

test("a random key is refused without checkpoints, and reported as data", async () => {
  const { program, lines, code } = await write({ program: RANDOM, refuseRandomKeys: true });
  expect({ program, code }).toEqual({ program: null, code: 1 });
  expect(findWire(lines.join("\n"))).toEqual({ randomKey: "acme" });
});

test.each([
  ["forgets a workspace", "export default () => ({});", /^error: the program gives no webhook for acme/],
  ["has no function", "export const program = 1;", /^error: the program .* default export/],
  ["throws", "export default () => { throw new Error('no such table'); };", /no such table/],
])("a program that %s fails with what is wrong", async (_, program, message) => {
  const { lines, code } = await write({ program });
  expect(code).toBe(1);
  expect(lines.join("\n")).toMatch(message);
});
