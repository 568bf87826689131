import { chmod, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { startEndpoint } from "../support/endpoint.ts";
import { freePort } from "../support/http.ts";
import { API_KEY, runCli, startLive, startService, usageError, VERIFICATION_KEY } from "./cli-harness.ts";
import { makeFolder } from "./program.ts";

/** A program that prints like the real one, and leads to this machine. `LIFE_MS` ends it by itself. */
const STAND_INS = {
  cloudflared: `console.error("2026-11-23T10:00:00Z INF |  " + process.argv.at(-1) + "through  |");`,
  ngrok: `console.log(JSON.stringify({ msg: "started tunnel", addr: "x", url: process.argv[3] + "through" }));`,
  tailscale: `console.log("Available on the internet:\\n\\n" + process.argv.at(-1) + "through\\n|-- proxy");`,
};

async function prepare(program: keyof typeof STAND_INS, { life = 60_000, script = STAND_INS[program] } = {}) {
  const service = startService();
  const [folder, state, emulator] = await Promise.all([makeFolder(), makeFolder(), service]);
  const file = join(folder, program);
  await writeFile(file, `#!${process.execPath}\n${script}\nsetTimeout(() => {}, ${life});\n`);
  await chmod(file, 0o755);
  const environment = {
    PATH: folder,
    XDG_STATE_HOME: state,
    APICHAT_BASE_URL: `${emulator.url}/acme/apichat`,
    APICHAT_API_KEY: API_KEY,
    APICHAT_VERIFICATION_KEY: VERIFICATION_KEY,
    NO_COLOR: "1",
  };
  return { environment, registered: () => emulator.workspace("acme").registration?.webhook_url };
}

/** Registers an endpoint of the user's own, as it stands before. */
async function registerOwn(environment: Record<string, string>): Promise<string> {
  const { url } = await startEndpoint();
  const set = await runCli(["webhook", "set", "--webhook-url", `${url}/own`], { environment });
  expect(set).toMatchObject({ exitCode: 0 });
  return `${url}/own`;
}

async function start(program: string, environment: Record<string, string>, ...options: string[]) {
  const live = startLive(["listen", "--tunnel", program, ...options], { environment });
  await live.waitFor(/handshake {2}passed.*\n.*handshake {2}passed .* as form$/m);
  return live;
}

describe("apichat listen --tunnel, with a stand-in for the tunnel", () => {
  test.each([
    ["cloudflared", "SIGINT"],
    ["ngrok", "SIGTERM"],
    ["tailscale", "SIGHUP"],
  ] as const)(
    "%s: registers the URL that it prints, and removes the registration at %s",
    async (program, signal) => {
      const { environment, registered } = await prepare(program);
      const { end, waitFor } = await start(program, environment);
      await waitFor(/^registered \S+\/through; press Ctrl-C/m);
      expect(registered()).toMatch(/\/through$/);
      expect(await end(signal)).toMatchObject({
        exitCode: 0,
        stderr: expect.stringMatching(/the registration is removed\n$/),
      });
      expect(registered()).toBeFalsy();
    },
  );

  test("restores what was there before, also when the tunnel ends by itself", async () => {
    const { environment, registered } = await prepare("cloudflared", { life: 4000 });
    const own = await registerOwn(environment);
    const { ended } = await start("cloudflared", environment, "--replace");
    expect(await ended).toMatchObject({ exitCode: 1, stderr: expect.stringContaining(`restored ${own}`) });
    expect(registered()).toBe(own);
  });

  test("after a kill -9, the next start names the tunnel, and prints the command that restores", async () => {
    const { environment, registered } = await prepare("ngrok");
    const own = await registerOwn(environment);
    const { end } = await start("ngrok", environment, "--replace");
    await expect.poll(registered).toMatch(/\/through$/);
    const through = registered();
    await end("SIGKILL");
    const next = await runCli(["listen", "--tunnel", "ngrok"], { environment });
    expect(next).toMatchObject({ exitCode: 1, stderr: expect.stringContaining("an earlier run has left") });
    expect(registered()).toBe(through);
    // Throws if there is no such process: the tunnel still runs.
    process.kill(Number(/^warning: .*ngrok.* kill (\d+)$/m.exec(next.stderr)?.[1]));
    const [, words = ""] = /: npx --package pulumi-apichat apichat (webhook set .*)/.exec(next.stderr) ?? [];
    const parameters = words.trimEnd().replaceAll("'", "").split(" ");
    expect(await runCli(parameters, { environment })).toMatchObject({ exitCode: 0 });
    expect(registered()).toBe(own);
    expect((await (await start("ngrok", environment, "--replace")).end()).exitCode).toBe(0);
  });

  test("Ctrl-C before anything is registered changes nothing, and the output says so", async () => {
    const { environment, registered } = await prepare("cloudflared", {
      script: `console.error("INF |  http://127.0.0.1:${await freePort()}/  |");`,
    });
    const { child, end } = startLive(["listen", "--tunnel", "cloudflared"], { environment });
    await new Promise((resolve) => child.stderr?.once("data", resolve));
    const { exitCode, stderr } = await end();
    expect([exitCode, stderr.trimEnd().split("\n")]).toEqual([0, [expect.stringContaining("forwards")]]);
    expect(registered()).toBeFalsy();
  });

  test("a masked key is a usage error, and nothing is registered", async () => {
    const { environment, registered } = await prepare("ngrok");
    const masked = { ...environment, APICHAT_VERIFICATION_KEY: "*".repeat(16) };
    const run = await runCli(["listen", "--tunnel", "ngrok"], { environment: masked });
    expect(run).toMatchObject({ exitCode: 2, stderr: expect.stringContaining("look like a mask") });
    expect(registered()).toBeFalsy();
  });

  test("a missing program is a usage error, and nothing is registered", async () => {
    const { environment, registered } = await prepare("ngrok");
    const run = await runCli(["listen", "--tunnel", "tailscale", "--json"], { environment });
    expect(run).toMatchObject({
      ...usageError(/no tailscale on PATH/),
      stdout: expect.stringContaining("listening"),
    });
    expect(registered()).toBeFalsy();
  });
});
