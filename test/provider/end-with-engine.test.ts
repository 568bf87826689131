import { spawn } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { expect, onTestFinished, test } from "vitest";
import { providerSource } from "../../dist/provider/pulumi/class-arguments.js";
import { startProvider, type Provider } from "./harness.ts";
import { makeFolder } from "../support/folder.ts";

/** Calls check, so that the provider process loads `pulumi-apichat/dynamic`. */
const expectCheck = async (provider: Provider): Promise<void> => {
  const { failures } = await provider.check({ __provider: providerSource("VerificationKey"), name: "acme" });
  expect(failures).toEqual([]);
};

const start = async (stdin: "pipe" | "ignore"): Promise<Provider> => {
  const provider = await startProvider({ stdin });
  onTestFinished(provider.stop);
  await expectCheck(provider);
  return provider;
};

/** Starts Node with these arguments. Its stdin stays open until the test closes it. */
const startNode = (...parameters: string[]) => {
  const child = spawn(process.execPath, parameters, { stdio: ["pipe", "pipe", "inherit"] });
  onTestFinished(() => void child.kill("SIGKILL"));
  return { closeStdin: () => child.stdin.end(), printed: text(child.stdout) };
};

const loadDynamic = `await import(${JSON.stringify(import.meta.resolve("../../dist/provider/dynamic.js"))});`;

test("the provider process ends when the engine closes its stdin", async () => {
  const provider = await start("pipe");
  provider.closeStdin();
  expect(await provider.ended).toEqual([0, null]);
});

test("the provider process does not end if stdin is /dev/null", async () => {
  const provider = await start("ignore");
  for (let call = 0; call < 20; call += 1) await expectCheck(provider);
});

test("an open stdin does not keep the provider process running", async () => {
  const folder = await makeFolder();
  const script = join(folder, "node_modules", "@pulumi", "pulumi", "cmd", "dynamic-provider");
  await mkdir(script, { recursive: true });
  await writeFile(join(script, "index.js"), `(async () => { ${loadDynamic} console.log("loaded"); })();`);
  expect(await startNode(join(script, "index.js")).printed).toBe("loaded\n");
});

test("a program other than the engine's provider continues after its stdin is closed", async () => {
  const print = `setTimeout(() => console.log("here"), 100)`;
  const program = `${loadDynamic} process.stdin.resume().once("close", () => ${print});`;
  const node = startNode("--input-type=module", "-e", program);
  node.closeStdin();
  expect(await node.printed).toBe("here\n");
});
