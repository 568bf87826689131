import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { afterAll } from "vitest";

const emulatorModule = new URL("../../dist/provider/emulator/index.js", import.meta.url).href;

const PROGRAM = `
  const { startEmulator } = await import(${JSON.stringify(emulatorModule)});
  const emulator = await startEmulator(JSON.parse(process.argv[1]));
  console.log(JSON.stringify({ url: emulator.url, botUrl: emulator.botUrl }));
`;

const children: ChildProcess[] = [];
afterAll(() => {
  for (const child of children) child.kill("SIGKILL");
});

/** An emulator in a process of its own. */
export interface EmulatorProcess {
  url: string;
  botUrl: string;
  /** kill -9; resolves when it is gone. */
  kill: () => Promise<void>;
}

/** Starts an emulator in a process of its own, which is gone after the tests. Rejects with what it said if it ends. */
export async function startEmulatorProcess(options: object): Promise<EmulatorProcess> {
  const parameters = ["--input-type=module", "-e", PROGRAM, JSON.stringify(options)];
  const child = spawn(process.execPath, parameters, { stdio: ["ignore", "pipe", "pipe"] });
  children.push(child);
  const ended = once(child, "close");
  let said = "";
  child.stderr.on("data", (chunk: Buffer) => (said += chunk.toString()));
  const announced = once(createInterface(child.stdout), "line");
  const first = await Promise.race([announced, ended.then(() => undefined)]);
  if (first === undefined) throw new Error(said);
  const places = JSON.parse(String(first[0])) as { url: string; botUrl: string };
  return {
    ...places,
    kill: async () => {
      child.kill("SIGKILL");
      await ended;
    },
  };
}
