import { chmod, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { createResponder } from "../../provider/responder/index.js";
import { toNodeListener } from "../../provider/responder/node.js";
import { freePort, startListener } from "../support/http.ts";
import { API_KEY, runCli, startLive, startService, usageError, VERIFICATION_KEY } from "./cli-harness.ts";
import { makeFolder } from "./program.ts";

/** A program that prints like the real one, and leads to this machine. `LIFE_MS` ends it by itself. */
const STAND_INS = {
  cloudflared: `console.error("2026-11-23T10:00:00Z INF |  " + process.argv.at(-1) + "through  |");`,
  ngrok: `console.log(JSON.stringify({ msg: "started tunnel", addr: "x", url: process.argv[3] + "through" }));`,
  tailscale: `console.log("Available on the internet:\\n\\n" + process.argv.at(-1) + "through\\n|-- proxy");`,
};

async function prepare(
  program: keyof typeof STAND_INS,
  { life = 60_000, script = STAND_INS[program], maskKey = false } = {},
) {
  const service = startService({ maskKey });
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
  const acme = emulator.workspace("acme");
  return { environment, acme, registered: () => acme.registration?.webhook_url };
}

/** Registers the user's own endpoint, as it was before. */
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
  await live.waitFor(/handshake {2}passed.*\n.*handshake {2}passed .* as form$/m);
  return live;
}

/** A killed run, whose webhook has a port that the next run can use too. Its tunnel still runs. */
async function killOne(environment: Record<string, string>, registered: () => string | undefined) {
  const port = String(await freePort());
  const { end } = await start("ngrok", environment, "--replace", "--port", port);
  await expect.poll(registered).toMatch(/\/through$/);
  await end("SIGKILL");
  return port;
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

  test("leaves a different webhook unchanged; with --replace it restores it at the end", async () => {
    const { environment, registered } = await prepare("cloudflared", { life: 4000 });
    const { own } = await registerOwn(environment);
    const refused = await runCli(["listen", "--tunnel", "cloudflared"], { environment });
    expect(refused).toMatchObject({ exitCode: 1, stderr: expect.stringContaining("already has a webhook") });
    expect(registered()).toBe(own);
    const { ended } = await start("cloudflared", environment, "--replace");
    expect(await ended).toMatchObject({ exitCode: 1, stderr: expect.stringContaining(`restored ${own}`) });
    expect(registered()).toBe(own);
  });

  test("is rejected while another run uses the workspace, whose registration stays", async () => {
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

  test("reports what stays registered if the earlier endpoint is gone at its end", async () => {
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
    ["a webhook", true, "set --replace --webhook-url"],
    ["nothing", false, "delete --webhook-url"],
  ])(
    "after a killed run over %s, the next one changes nothing, and prints the command that does",
    async (_, hasOwn, command) => {
      const { environment, registered } = await prepare("ngrok");
      const { own } = hasOwn ? await registerOwn(environment) : {};
      await killOne(environment, registered);
      const through = registered();
      const next = await runCli(["listen", "--tunnel", "ngrok"], { environment });
      expect(next).toMatchObject({ exitCode: 1, stderr: expect.stringContaining("an earlier run has left") });
      expect(registered()).toBe(through);
      const [, words = ""] =
        new RegExp(`: npx --package pulumi-apichat apichat (webhook ${command} '.*')`).exec(next.stderr) ??
        [];
      const parameters = words.replaceAll("'", "").split(" ");
      expect(await runCli(parameters, { environment })).toMatchObject({ exitCode: 0 });
      expect(registered() || undefined).toBe(own);
      expect((await (await start("ngrok", environment, "--replace")).end()).exitCode).toBe(0);
    },
  );

  test("after a killed run, a later registration of the same URL stays", async () => {
    const { environment, acme, registered } = await prepare("ngrok");
    const port = await killOne(environment, registered);
    const theirs = {
      webhook_url: registered() ?? "",
      webhook_verification_key: "their-own-verification-key",
    };
    acme.takeOver(theirs);
    const refused = await runCli(["listen", "--tunnel", "ngrok", "--port", port], { environment });
    expect(refused).toMatchObject({
      exitCode: 2,
      stderr: expect.stringContaining("a different verification key"),
    });
    expect(acme.registration).toMatchObject(theirs);
  });

  test("a registration of the same URL while it runs stays", async () => {
    const { environment, acme, registered } = await prepare("ngrok");
    const { end, waitFor } = await start("ngrok", environment);
    await waitFor(/^registered/m);
    const theirs = {
      webhook_url: registered() ?? "",
      webhook_verification_key: "their-own-verification-key",
    };
    acme.takeOver(theirs);
    expect(await end()).toMatchObject({
      exitCode: 0,
      stderr: expect.stringContaining("has changed in the meantime, and stays as it is"),
    });
    expect(acme.registration).toMatchObject(theirs);
  });

  test("if the service masks keys, it removes what it has set, and nothing of a killed run", async () => {
    const { environment, registered } = await prepare("ngrok", { maskKey: true });
    const { end, waitFor } = await start("ngrok", environment);
    await waitFor(/^registered/m);
    expect((await end()).stderr).toContain("the registration is removed");
    const port = await killOne(environment, registered);
    const left = registered();
    const refused = await runCli(["listen", "--tunnel", "ngrok", "--port", port], { environment });
    expect(refused).toMatchObject({ exitCode: 2, stderr: expect.stringContaining("apichat webhook delete") });
    expect(registered()).toBe(left);
  });

  test("the next start reports the tunnel of a killed run, with its pid, and does not end it", async () => {
    const { environment, registered } = await prepare("ngrok");
    await killOne(environment, registered);
    const { stderr } = await runCli(["listen", "--tunnel", "ngrok"], { environment });
    const pid = Number(/^warning: .*ngrok.* kill (\d+)$/m.exec(stderr)?.[1]);
    expect(pid).toBeGreaterThan(1);
    // Throws if the process does not exist.
    process.kill(pid);
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
