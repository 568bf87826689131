import type { RequestListener } from "node:http";
import { describe, expect, it, onTestFinished } from "vitest";
import {
  CONTROL_LIMITS,
  findRunning,
  isResponding,
  requestReload,
  requestStop,
  spoolOf,
} from "../../../provider/server/control-client.js";
import { takeDataDir, writeInstance } from "../../../provider/server/data-dir.js";
import { startListener } from "../../support/http.js";
import { DEAD, deliver, KEY, makeFolder, SECOND_KEY, startTestServer } from "./harness.js";

describe("the control interface", () => {
  it("responds, reloads the configuration, and stops the responder", async () => {
    const { instance, origin, configure, dataDir, server } = await startTestServer();
    expect(await findRunning(dataDir)).toEqual(instance);
    await configure({ workspaces: { acme: { verificationKeys: [SECOND_KEY, KEY] } } });
    await requestReload(instance);
    expect(await deliver(`${origin}/acme`, SECOND_KEY)).toBe(200);
    await configure({ port: "x" });
    const message = expect.stringContaining("port: must be a whole number") as string;
    const refusal = { code: "invalid_config", httpStatus: 422, message };
    await expect(requestReload(instance)).rejects.toMatchObject(refusal);
    expect(await requestStop(instance)).toBe(true);
    await server.stopped;
    expect([await isResponding(instance), await requestStop(instance)]).toEqual([false, false]);
    expect(await findRunning(dataDir)).toBeUndefined();
    for (const work of [requestReload(instance), spoolOf(instance).retry()])
      await expect(work).rejects.toMatchObject({ code: "unavailable" });
  });

  it("requires the token, and rejects other paths and methods", async () => {
    const { instance } = await startTestServer();
    const { controlPort, token } = instance;
    const ask = (line: string, headers: Record<string, string> = {}): Promise<Response> => {
      const [method = "", path = ""] = line.split(" ");
      return fetch(`http://127.0.0.1:${controlPort}${path}`, { method, headers });
    };
    const wrong = ["", "Bearer", `Bearer ${token}x`, `Bearer ${token.slice(1)}`, token, `Basic ${token}`];
    for (const headers of [{}, ...wrong.map((authorization) => ({ authorization }))]) {
      for (const line of ["POST /ping", "POST /stop", "POST /nothing"]) {
        const answer = await ask(line, headers);
        expect([line, answer.status]).toEqual([line, 401]);
      }
    }
    for (const line of ["GET /ping", "GET /stop", "POST /other"])
      expect((await ask(line, { authorization: `Bearer ${token}` })).status).toBe(404);
    expect(await isResponding(instance)).toBe(true);
  });
});

it("waits longer for a reload than for a response to a ping", async () => {
  const { answerMs } = CONTROL_LIMITS;
  onTestFinished(() => void (CONTROL_LIMITS.answerMs = answerMs));
  CONTROL_LIMITS.answerMs = 50;
  const slow = await startListener((_req, res) => {
    res.setHeader("x-apichat-instance", DEAD.instance);
    setTimeout(() => res.end("{}"), 200);
  });
  const instance = { ...DEAD, controlPort: slow.port };
  expect(await isResponding(instance)).toBe(false);
  await requestReload(instance);
});

it.each([
  ["has not announced itself", undefined, "another process", /Try again in a moment; if that fails, end the/],
  ["does not respond", DEAD, "the responder of process 4711", /Try again in a moment \(.*kill -9 4711,/],
])(
  "a process that has locked a data folder but %s counts as alive until it unlocks it; the error has a hint",
  async (_what, announced, holder, hint) => {
    const { answerMs } = CONTROL_LIMITS;
    onTestFinished(() => void (CONTROL_LIMITS.answerMs = answerMs));
    CONTROL_LIMITS.answerMs = 100;
    const dataDir = await makeFolder();
    const lock = await takeDataDir(dataDir);
    const silent = await startListener(() => {});
    if (announced) await writeInstance(dataDir, { ...announced, controlPort: silent.port });
    const summary = `${holder} holds ${dataDir} but does not respond: it is starting, stopping or hung`;
    const message = expect.stringMatching(hint) as string;
    await expect(findRunning(dataDir)).rejects.toMatchObject({ code: "timeout", summary, message });
    lock.release();
    expect(await findRunning(dataDir)).toBeUndefined();
  },
);

describe("a dead process that is still announced", () => {
  it.each<[string, RequestListener]>([
    ["answers 200", (_req, res) => res.end("{}")],
    ["answers 401", (_req, res) => res.writeHead(401).end()],
    [
      "responds as a different instance",
      (_req, res) => res.setHeader("x-apichat-instance", "alive").end("{}"),
    ],
    ["hangs up", (req) => req.socket.destroy()],
  ])("counts as dead if a program on its port %s", async (_what, listener) => {
    const instance = { ...DEAD, controlPort: (await startListener(listener)).port };
    expect([await isResponding(instance), await requestStop(instance)]).toEqual([false, false]);
  });

  it("counts as dead if a different responder listens on its port", async () => {
    const { instance } = await startTestServer();
    expect(await requestStop({ ...instance, token: "token of the dead one" })).toBe(false);
    expect(await isResponding(instance)).toBe(true);
  });
});
