import { beforeEach, describe, expect, test, vi } from "vitest";
import { startEmulator, type Emulator } from "../../../provider/emulator/index.ts";
import { printLinesWith } from "../../../provider/lib/progress.ts";
import { borrowRegistration, reserveWorkspace } from "../../../provider/registration/borrow.ts";
import { API_KEY, startEndpoint, VERIFICATION_KEY, type Endpoint } from "../../support/endpoint.ts";
import { makeFolder } from "../../support/folder.ts";
import { afterTests } from "../../support/http.ts";

let emulator: Emulator;
let endpoint: Endpoint;
let printed: string[];

beforeEach(async () => {
  vi.stubEnv("XDG_STATE_HOME", await makeFolder());
  printed = [];
  const previous = printLinesWith((_kind, _name, line) => void printed.push(line));
  await open();
  return () => {
    printLinesWith(previous);
    vi.unstubAllEnvs();
  };
});

async function open(options: { maskKey?: boolean } = {}): Promise<void> {
  const started = await startEmulator({ workspaces: [{ name: "acme", apiKey: API_KEY }], ...options });
  afterTests(() => started.close());
  emulator = started;
  endpoint = await startEndpoint();
}

const acme = () => emulator.workspace("acme");
const registered = (): string => acme().registration?.webhook_url ?? "";
const through = (): string => `${endpoint.url}/through`;

/** A webhook that stood there before, at an endpoint of its own. */
async function registerOwn() {
  const { url, close } = await startEndpoint();
  acme().takeOver({ webhook_url: `${url}/own`, webhook_verification_key: VERIFICATION_KEY });
  return { own: `${url}/own`, close };
}

/** A run of `apichat listen --tunnel`. `die` is what is left of a kill -9: the system releases the lock. */
async function start(onExisting: "fail" | "replace" = "fail", signal = new AbortController().signal) {
  const { baseUrl } = acme();
  const reservation = reserveWorkspace(baseUrl, API_KEY);
  const wanted = {
    name: "listen",
    baseUrl,
    webhookUrl: through(),
    webhookVerificationKey: VERIFICATION_KEY,
    onExisting,
  };
  const tunnel = { program: "ngrok", pid: 4711 };
  try {
    const restore = await borrowRegistration(wanted, reservation, { apiKey: API_KEY, signal, tunnel });
    return { restore: () => restore().finally(reservation.release), die: reservation.release };
  } catch (error) {
    reservation.release();
    throw error;
  }
}

const THEIRS = { webhook_verification_key: "their-own-verification-key" };

describe("a registration for a while", () => {
  test.each([false, true])("is removed at the end; the service masks keys: %s", async (maskKey) => {
    await open({ maskKey });
    const { restore } = await start();
    expect(registered()).toBe(through());
    await restore();
    expect(registered()).toBe("");
    expect(printed).toContain("the registration is removed");
  });

  test("leaves a different webhook; with replace it restores it", async () => {
    const { own } = await registerOwn();
    await expect(start()).rejects.toThrow("already has a webhook");
    expect(registered()).toBe(own);
    const { restore } = await start("replace");
    expect(registered()).toBe(through());
    await restore();
    expect([registered(), printed.at(-1)]).toEqual([own, `restored ${own}`]);
  });

  test("is refused while another run has the workspace", async () => {
    const { restore } = await start();
    await expect(start()).rejects.toThrow("another apichat listen --tunnel has registered its URL");
    expect(registered()).toBe(through());
    await restore();
  });

  test("that cannot be restored, because the earlier endpoint is gone, is named with the command", async () => {
    const { own, close } = await registerOwn();
    const { restore } = await start("replace");
    await close();
    await expect(restore()).rejects.toThrow("ECONNREFUSED");
    const stays = `${through()} may still be registered at ${acme().baseUrl}; to register ${own} again: `;
    expect(printed.at(-1)).toContain(stays);
  });

  test("leaves what somebody has set meanwhile at the same URL", async () => {
    const { restore } = await start();
    acme().takeOver({ webhook_url: through(), ...THEIRS });
    await restore();
    expect(acme().registration).toMatchObject({ webhook_url: through(), ...THEIRS });
    expect(printed.at(-1)).toContain("has changed in the meantime, and stays as it is");
  });

  test("that is ended before it begins changes nothing, and does not say otherwise", async () => {
    await expect(start("fail", AbortSignal.abort(new Error("interrupted")))).rejects.toThrow("interrupted");
    expect([registered(), printed]).toEqual(["", []]);
  });
});

describe("after a run that was killed", () => {
  test.each([
    ["a webhook", true, "webhook set --replace --webhook-url"],
    ["nothing", false, "webhook delete --webhook-url"],
  ])("over %s, the next one changes nothing, and prints the command", async (_, hasOwn, command) => {
    if (hasOwn) await registerOwn();
    (await start("replace")).die();
    await expect(start("replace")).rejects.toThrow(`an earlier run has left its webhook`);
    await expect(start("replace")).rejects.toThrow(command);
    expect(registered()).toBe(through());
    expect(printed.at(-1)).toContain("if process 4711 is ngrok, end it: kill 4711");
  });

  test.each([
    ["what somebody has registered at its URL", {}, THEIRS, "a different verification key"],
    ["a key that the service masks", { maskKey: true }, {}, "a key that the service does not show"],
  ])("%s stays", async (_, options, change, reason) => {
    await open(options);
    (await start()).die();
    acme().takeOver({ webhook_url: through(), webhook_verification_key: VERIFICATION_KEY, ...change });
    await expect(start("replace")).rejects.toMatchObject({
      code: "invalid_config",
      message: expect.stringContaining(reason),
    });
    expect(acme().registration).toMatchObject({ webhook_url: through(), ...change });
  });
});
