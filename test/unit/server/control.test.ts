import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, it } from "vitest";
import {
  requestReload,
  requestStatus,
  requestStop,
  requestWake,
  type Instance,
} from "../../../provider/server/control-client.js";
import { startControl } from "../../../provider/server/control.js";
import { afterTests } from "../client/harness.js";
import { KEY, SECOND_KEY } from "./folders.js";
import { deliver, startTestServer } from "./harness.js";

/** A program that has the control port of a dead responder. */
async function startForeigner(listener: RequestListener): Promise<number> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  afterTests(() => {
    server.closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

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
  it("tells the status, has a new configuration applied, and stops", async () => {
    const { announced, origin, configure, server } = await startTestServer();
    const instance = await announced();
    expect(await requestStatus(instance)).toEqual(server.status());
    await configure({ workspaces: { acme: { verificationKeys: [SECOND_KEY, KEY] } } });
    expect(await requestReload(instance)).toEqual(server.status());
    expect(await deliver(`${origin()}/acme`, SECOND_KEY)).toBe(200);
    expect(await requestWake(instance)).toBe(true);
    expect(await requestStop(instance)).toBe(true);
    await server.stopped;
    expect(await requestStatus(instance)).toBeUndefined();
    expect(await requestStop(instance)).toBe(false);
    expect(await requestWake(instance)).toBe(false);
    await expect(requestReload(instance)).rejects.toMatchObject({ code: "unavailable" });
  });

  it("is woken for one workspace, or for every one", async () => {
    const woken: (string | undefined)[] = [];
    const { server } = await startTestServer();
    const actions = {
      status: () => server.status(),
      reload: () => server.reload(),
      stop: () => server.stop(),
      wake: (workspace?: string) => void woken.push(workspace),
    };
    const control = await startControl({ instance: "test", token: "token", actions });
    afterTests(() => control.close());
    const instance: Instance = { ...DEAD, instance: "test", controlPort: control.port };
    expect(await requestWake(instance)).toBe(true);
    expect(await requestWake(instance, "a&b=c d")).toBe(true);
    expect(woken).toEqual([undefined, "a&b=c d"]);
  });

  it("says why it does not apply a wrong configuration", async () => {
    const { announced, configure } = await startTestServer();
    await configure({ port: "x" });
    await expect(requestReload(await announced())).rejects.toMatchObject({
      code: "invalid_config",
      httpStatus: 422,
      message: expect.stringContaining('port: must be a whole number from 0 to 65535, got "x"') as string,
    });
  });

  it("listens on this machine only, and shows nothing without the token", async () => {
    const { announced, server } = await startTestServer();
    const { controlPort, token } = await announced();
    const url = `http://127.0.0.1:${controlPort}`;
    const wrong = [
      undefined,
      "",
      "Bearer",
      `Bearer ${token}x`,
      `Bearer ${token.slice(1)}`,
      token,
      `Basic ${token}`,
    ];
    for (const authorization of wrong) {
      for (const path of ["/status", "/stop", "/nothing"]) {
        const method = path === "/status" ? "GET" : "POST";
        const answer = await fetch(url + path, {
          method,
          ...(authorization !== undefined && { headers: { authorization } }),
        });
        expect([path, answer.status]).toEqual([path, 401]);
        expect(await answer.text()).not.toContain("workspaces");
      }
    }
    expect(server.status().pid).toBe(process.pid);
  });

  it("refuses other paths and methods", async () => {
    const { announced } = await startTestServer();
    const { controlPort, token } = await announced();
    const statusOf = async (method: string, path: string): Promise<number> => {
      const headers = { authorization: `Bearer ${token}` };
      return (await fetch(`http://127.0.0.1:${controlPort}${path}`, { method, headers })).status;
    };
    expect(await statusOf("POST", "/status")).toBe(404);
    expect(await statusOf("GET", "/stop")).toBe(404);
    expect(await statusOf("GET", "/other")).toBe(404);
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
    const instance = { ...DEAD, controlPort: await startForeigner(listener) };
    expect(await requestStatus(instance)).toBeUndefined();
    expect(await requestStop(instance)).toBe(false);
  });

  it("is not taken for another responder with its port", async () => {
    const { announced, server } = await startTestServer();
    const alive = await announced();
    expect(await requestStop({ ...alive, token: "token of the dead one" })).toBe(false);
    expect(server.status().instance).toBe("test-instance");
  });
});
