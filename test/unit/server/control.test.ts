import type { RequestListener } from "node:http";
import { describe, expect, it } from "vitest";
import {
  requestReload,
  requestStatus,
  requestStop,
  requestRetry,
  type Instance,
} from "../../../provider/server/control-client.js";
import { startControl } from "../../../provider/server/control.js";
import { afterTests, startListener } from "../../support/http.js";
import { deliver, KEY, SECOND_KEY, startTestServer } from "./harness.js";

/** Announced by a process that is no more. */
const DEAD: Instance = {
  instance: "dead",
  pid: 4711,
  host: "127.0.0.1",
  port: 1,
  controlPort: 1,
  token: "token",
  startedAt: "2026-11-21T08:00:00.000Z",
};

describe("the control interface", () => {
  it("gives the status, has a new configuration applied or refused, and stops", async () => {
    const { announced, origin, configure, server } = await startTestServer();
    const instance = await announced();
    expect(await requestStatus(instance)).toEqual(server.status());
    await configure({ workspaces: { acme: { verificationKeys: [SECOND_KEY, KEY] } } });
    expect(await requestReload(instance)).toEqual(server.status());
    expect(await deliver(`${origin()}/acme`, SECOND_KEY)).toBe(200);
    await configure({ port: "x" });
    await expect(requestReload(instance)).rejects.toMatchObject({
      code: "invalid_config",
      httpStatus: 422,
      message: expect.stringContaining("port: must be a whole number") as string,
    });
    expect(await requestStop(instance)).toBe(true);
    await server.stopped;
    expect(await requestStatus(instance)).toBeUndefined();
    expect([await requestStop(instance), await requestRetry(instance)]).toEqual([false, false]);
    await expect(requestReload(instance)).rejects.toMatchObject({ code: "unavailable" });
  });

  it("retries one workspace, or every one", async () => {
    const retried: (string | undefined)[] = [];
    const { server } = await startTestServer();
    const actions = {
      status: () => server.status(),
      reload: () => server.reload(),
      stop: () => server.stop(),
      retry: (workspace?: string) => void retried.push(workspace),
    };
    const control = await startControl({ instance: "test", token: "token", actions });
    afterTests(() => control.close());
    const instance: Instance = { ...DEAD, instance: "test", controlPort: control.port };
    expect([await requestRetry(instance), await requestRetry(instance, "a&b=c d")]).toEqual([true, true]);
    expect(retried).toEqual([undefined, "a&b=c d"]);
  });

  it("shows and does nothing without the token, and has no other paths and methods", async () => {
    const { announced, server } = await startTestServer();
    const { controlPort, token } = await announced();
    const ask = (method: string, path: string, authorization?: string): Promise<Response> => {
      const headers = authorization === undefined ? {} : { authorization };
      return fetch(`http://127.0.0.1:${controlPort}${path}`, { method, headers });
    };
    const wrong = ["", "Bearer", `Bearer ${token}x`, `Bearer ${token.slice(1)}`, token, `Basic ${token}`];
    for (const authorization of [undefined, ...wrong]) {
      for (const path of ["/status", "/stop", "/nothing"]) {
        const answer = await ask(path === "/status" ? "GET" : "POST", path, authorization);
        expect([path, answer.status]).toEqual([path, 401]);
        expect(await answer.text()).not.toContain("workspaces");
      }
    }
    for (const [method, path] of [
      ["POST", "/status"],
      ["GET", "/stop"],
      ["GET", "/other"],
    ] as const)
      expect((await ask(method, path, `Bearer ${token}`)).status).toBe(404);
    expect(server.status().pid).toBe(process.pid);
  });
});

describe("an announcement whose process is dead", () => {
  it.each<[string, RequestListener]>([
    ["answers 200", (_req, res) => res.end("{}")],
    ["answers 401", (_req, res) => res.writeHead(401).end()],
    [
      "answers as another instance",
      (_req, res) => res.writeHead(200, { "x-apichat-instance": "alive" }).end("{}"),
    ],
    ["hangs up", (req) => req.socket.destroy()],
  ])("is not taken for alive when a program on its port %s", async (_what, listener) => {
    const instance = { ...DEAD, controlPort: (await startListener(listener)).port };
    expect(await requestStatus(instance)).toBeUndefined();
    expect(await requestStop(instance)).toBe(false);
  });

  it("is not taken for another responder with its port", async () => {
    const { announced, server } = await startTestServer();
    expect(await requestStop({ ...(await announced()), token: "token of the dead one" })).toBe(false);
    expect(server.status().instance).toBe("test-instance");
  });
});
