import { existsSync } from "node:fs";
import { chmod, mkdir, readFile, writeFile } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { beforeEach, vi } from "vitest";
import type { FleetDefinition } from "../../../provider/fleet/definition.ts";
import { makeFolder, randomKeyWebhook } from "./harness.ts";

/** How the fake `pulumi` answers a command. */
export interface Answer {
  lines?: string[];
  errors?: string;
  code?: number;
  /** Waits for so many SIGINT, once the lines are printed; 0 for ever. */
  interrupts?: number;
}

interface Call {
  args: string;
  env: Record<string, string>;
  cwd: string;
  /** The program, and the mode of its file. */
  program?: unknown;
  mode?: string;
}

/** Notes each call, and answers as `answers.json` has it for the command's first words: in turn, if it is a list. */
const FAKE = `#!${process.execPath}
const { appendFileSync, existsSync, readFileSync, statSync, writeFileSync } = require("node:fs");
const args = process.argv.slice(2).join(" ").replace(" --non-interactive --color never", "");
const place = process.env.FAKE_PULUMI;
const path = "Main.json";
const file = existsSync(path) && { program: JSON.parse(readFileSync(path, "utf8")), mode: (statSync(path).mode & 0o777).toString(8) };
appendFileSync(place + "/calls", JSON.stringify({ args, env: process.env, cwd: process.cwd(), ...file }) + "\\n");
const answers = JSON.parse(readFileSync(place + "/answers.json", "utf8"));
const key = Object.keys(answers).find((words) => args.startsWith(words));
const all = [answers[key] ?? {}].flat();
const { lines = [], errors = "", code = 0, interrupts } = all[0];
if (all.length > 1) writeFileSync(place + "/answers.json", JSON.stringify({ ...answers, [key]: all.slice(1) }));
process.stdout.write(lines.map((line) => line + "\\n").join(""));
process.stderr.write(errors);
process.exitCode = code;
if (interrupts !== undefined) {
  const alive = setInterval(() => {}, 1000);
  let left = interrupts;
  process.on("SIGINT", () => {
    appendFileSync(place + "/interrupts", "x");
    if ((left -= 1) === 0) clearInterval(alive);
  });
  console.log('{"sequence":0}');
}
`;

/** Of one test: with the fake on PATH. */
let folder: string;

export const answer = (answers: Record<string, Answer | Answer[]>): Promise<void> =>
  writeFile(join(folder, "answers.json"), JSON.stringify(answers));

/**
 * Puts the fake on PATH for each test of a file, which calls this itself: files of one worker share this module, and a hook of
 * a module is one of the first file alone.
 */
export const useFakePulumi = (): void =>
  beforeEach(async () => {
    folder = await makeFolder();
    taken = 0;
    await answer({});
    const bin = join(folder, "bin");
    await mkdir(bin);
    await writeFile(join(bin, "pulumi"), FAKE);
    await chmod(join(bin, "pulumi"), 0o755);
    vi.stubEnv("PATH", `${bin}${delimiter}${process.env["PATH"]}`);
    vi.stubEnv("FAKE_PULUMI", folder);
    vi.stubEnv("PULUMI_SKIP_CHECKPOINTS", undefined);
    return () => vi.unstubAllEnvs();
  });

let taken = 0;

/** The calls since the last time. */
export async function takeCalls(): Promise<Call[]> {
  const file = join(folder, "calls");
  const text = existsSync(file) ? await readFile(file, "utf8") : "";
  // The last line may not be written whole yet.
  const lines = text.split("\n").slice(taken, -1);
  taken += lines.length;
  return lines.map((line) => JSON.parse(line) as Call);
}

export const definitionOf = (changes: Partial<FleetDefinition> = {}): FleetDefinition => ({
  name: "test",
  stacks: 1,
  webhook: (workspace, run) => ({
    ...randomKeyWebhook(workspace, run),
    webhookVerificationKey: "0123456789abcdefghij",
  }),
  folder,
  rotations: ["2026-12"],
  workspaces: [{ name: "acme", baseUrl: "https://platform.example/acme", apiKey: "the-api-key-of-acme" }],
  ...changes,
});

export const STACK = "test-0-of-1";
