import { chmod, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { createResponder } from "../../provider/responder/index.js";
import { toNodeListener } from "../../provider/responder/node.js";
import { freePort, startListener } from "../support/http.ts";
import { API_KEY, runCli, startLive, startService, usageError, VERIFICATION_KEY } from "./cli-harness.ts";
import { makeFolder } from "./program.ts";

/** A program that prints what the real one does, and leads to the same machine. `LIFE_MS` ends it by itself. */
const STAND_INS = {
  cloudflared: `console.error("2026-11-23T10:00:00Z INF |  " + process.argv.at(-1) + "through  |");`,
  ngrok: `console.log(JSON.stringify({ msg: "started tunnel", addr: "x", url: process.argv[3] + "through" }));`,
  tailscale: `console.log("Available on the internet:\\n\\n" + process.argv.at(-1) + "through\\n|-- proxy");`,
};

async function prepare(program: keyof typeof STAND_INS, { life = 60_000, script = STAND_INS[program] } = {}) {
  const [folder, state, emulator] = await Promise.all([makeFolder(), makeFolder(), startService()]);
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
async function registerOwn(environment: Record<string, string>) {
  const verificationKeys = environment["APICHAT_VERIFICATION_KEY"] ?? "";
  const responder = createResponder({ verificationKeys, onDelivery: () => undefined });
  const { port, close } = await startListener(toNodeListener(responder));
  const own = `http://127.0.0.1:${port}/own`;
  expect(await runCli(["webhook", "set", "--webhook-url", own], { environment })).toMatchObject({
    exitCode: 0,
  });
  return { own, close };
}

async function start(program: string, environment: Record<string, string>, ...options: string[]) {
  const live = startLive(["listen", "--tunnel", program, ...options], { environment });
  await live.waitFor(/handshake {2}passed.*\n.*handshake {2}passed  as form$/m);
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

  test("leaves another webhook as it is; with --replace it restores it, also when the tunnel ends by itself", async () => {
    const { environment, registered } = await prepare("cloudflared", { life: 4000 });
    const { own } = await registerOwn(environment);
    const refused = await runCli(["listen", "--tunnel", "cloudflared"], { environment });
    expect(refused).toMatchObject({ exitCode: 1, stderr: expect.stringContaining("already has a webhook") });
    expect(registered()).toBe(own);
    const { ended } = await start("cloudflared", environment, "--replace");
    expect(await ended).toMatchObject({ exitCode: 1, stderr: expect.stringContaining(`restored ${own}`) });
    expect(registered()).toBe(own);
  });

  test("is refused while another run has the workspace, whose registration stays", async () => {
    const { environment, registered } = await prepare("ngrok");
    const { own } = await registerOwn(environment);
    const { end } = await start("ngrok", environment, "--replace");
    await expect.poll(registered).toMatch(/\/through$/);
    const through = registered();
    const refused = await runCli(["listen", "--tunnel", "ngrok"], { environment });
    expect(refused).toMatchObject({
      exitCode: 1,
      stderr: expect.stringContaining("another apichat listen --tunnel has registered its URL"),
    });
    expect(registered()).toBe(through);
    expect((await end()).stderr).toContain(`restored ${own}`);
  });

  test("says what stays if the earlier endpoint is gone when it ends", async () => {
    const { environment, registered } = await prepare("ngrok");
    const { own, close } = await registerOwn(environment);
    const { end } = await start("ngrok", environment, "--replace");
    await expect.poll(registered).toMatch(/\/through$/);
    const through = registered() ?? "";
    await close();
    const { exitCode, stderr } = await end();
    expect(exitCode).toBe(1);
    expect(stderr).toContain(
      `${through} may still be registered at ${environment.APICHAT_BASE_URL}; to register ${own} again: `,
    );
  });

  test.each([
    ["the same key, and restores it", VERIFICATION_KEY, (own: string) => `restored ${own}`, true],
    [
      "another key, and says how to register it again",
      `${VERIFICATION_KEY}-other`,
      (own: string) => `apichat webhook set --replace --webhook-url '${own}'`,
      false,
    ],
  ])("finds at its next start what a killed run had replaced with %s", async (_, key, said, isRestored) => {
    const { environment, registered } = await prepare("ngrok");
    const { own } = await registerOwn({ ...environment, APICHAT_VERIFICATION_KEY: key });
    const { end, child } = await start("ngrok", environment, "--replace");
    await expect.poll(registered).toMatch(/\/through$/);
    await end("SIGKILL");
    expect(child.exitCode).toBeNull();
    // Another API key may be of another workspace.
    const other = { ...environment, APICHAT_API_KEY: `${API_KEY}-other` };
    const refused = await runCli(["listen", "--tunnel", "ngrok"], { environment: other });
    expect(refused).toMatchObject({ exitCode: 1, stderr: expect.not.stringContaining("an earlier run") });
    const next = await start("ngrok", environment);
    const { stderr } = await next.end();
    expect(stderr).toMatch(
      /^warning: an earlier run was killed.* \S+\/through is still registered at .*its tunnel may still run$/m,
    );
    expect(stderr).toContain(`in place of ${own};`);
    expect(stderr).toContain(said(own));
    expect(registered() === own).toBe(isRestored);
  });

  test("Ctrl-C before anything is registered changes nothing, and does not say otherwise", async () => {
    const { environment, registered } = await prepare("cloudflared", {
      script: `console.error("INF |  http://127.0.0.1:${await freePort()}/  |");`,
    });
    const { child, end } = startLive(["listen", "--tunnel", "cloudflared"], { environment });
    await new Promise((resolve) => child.stderr?.once("data", resolve));
    const { exitCode, stderr } = await end();
    expect([exitCode, stderr.trimEnd().split("\n")]).toEqual([0, [expect.stringContaining("forwards")]]);
    expect(registered()).toBeFalsy();
  });

  test("a key that is a mask is a usage error, and nothing is registered", async () => {
    const { environment, registered } = await prepare("ngrok");
    const masked = { ...environment, APICHAT_VERIFICATION_KEY: "*".repeat(16) };
    const run = await runCli(["listen", "--tunnel", "ngrok"], { environment: masked });
    expect(run).toMatchObject({ exitCode: 2, stderr: expect.stringContaining("look like a mask") });
    expect(registered()).toBeFalsy();
  });

  test("a program that is not there is a usage error, and nothing is registered", async () => {
    const { environment, registered } = await prepare("ngrok");
    const run = await runCli(["listen", "--tunnel", "tailscale", "--json"], { environment });
    expect(run).toMatchObject({
      ...usageError(/no tailscale on PATH/),
      stdout: expect.stringContaining("listening"),
    });
    expect(registered()).toBeFalsy();
  });
});
