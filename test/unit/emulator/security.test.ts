import { createConnection } from "node:net";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { describe, expect, onTestFinished, test } from "vitest";
import { startEmulator } from "../../../provider/emulator/index.js";
import { control, rawStatus, token } from "./control-harness.js";
import { addressOf, apiKey, call, set, startAcme, startEndpoint } from "./harness.js";

const health = "/_emulator/health";

describe("a web page from elsewhere", () => {
  test.each(["evil.example", "evil.example:PORT", "localhost:1", "127.0.0.1", "localhost.evil.example:PORT"])(
    "gets nothing under the name %j (DNS rebinding)",
    async (host) => {
      const { emulator } = await startAcme();
      const headers = { host: host.replace("PORT", new URL(emulator.url).port) };
      expect(await rawStatus(emulator, health, { headers })).toBe(403);
      expect(await rawStatus(emulator, "/_emulator/", { headers })).toBe(403);
      expect(await rawStatus(emulator, "/_emulator/nope", { headers })).toBe(403);
    },
  );

  test.each(["localhost", "LOCALHOST", "127.0.0.1", "[::1]"])("is not one at %s", async (name) => {
    const { emulator } = await startAcme();
    const headers = { host: `${name}:${new URL(emulator.url).port}` };
    expect(await rawStatus(emulator, health, { headers })).toBe(200);
  });

  test("cannot drive it from another origin, another port of this machine included", async () => {
    const { emulator } = await startAcme();
    const { port } = new URL(emulator.url);
    const strangers = [
      "https://evil.example",
      "null",
      `http://127.0.0.1:${Number(port) + 1}`,
      `https://127.0.0.1:${port}`,
    ];
    for (const origin of strangers) {
      const headers = { origin };
      expect(await rawStatus(emulator, health, { headers })).toBe(403);
      expect(await rawStatus(emulator, "/_emulator/reset", { method: "POST", headers })).toBe(403);
    }
    const own = { origin: emulator.url };
    expect(await rawStatus(emulator, "/_emulator/reset", { method: "POST", headers: own })).toBe(204);
  });

  test.each(["cross-site", "same-site"])(
    "cannot embed anything (%s), but may link to the page",
    async (site) => {
      const { emulator } = await startAcme();
      const headers = { "sec-fetch-site": site, "sec-fetch-mode": "no-cors" };
      for (const path of [health, "/_emulator/app.js", "/_emulator/events"]) {
        expect(await rawStatus(emulator, path, { headers })).toBe(403);
      }
      const link = { "sec-fetch-site": site, "sec-fetch-mode": "navigate", "sec-fetch-dest": "document" };
      expect(await rawStatus(emulator, "/_emulator/", { headers: link })).not.toBe(403);
      expect(await rawStatus(emulator, health, { headers: link })).toBe(403);
      const frame = { ...link, "sec-fetch-dest": "iframe" };
      expect(await rawStatus(emulator, "/_emulator/", { headers: frame })).toBe(403);
    },
  );

  test("is told of no route", async () => {
    const { emulator } = await startAcme();
    const answer = await control(emulator, "OPTIONS /_emulator/reset", undefined, {
      origin: "https://evil.example",
    });
    expect(answer.status).toBe(403);
    expect(answer.headers.has("access-control-allow-origin")).toBe(false);
  });

  test("does not reach the service's own interfaces either", async () => {
    const { acme, emulator } = await startAcme();
    await set(acme, (await startEndpoint()).url);
    const seen = emulator.requests.length;
    const body = { method: "POST", body: JSON.stringify({ ChaveApi: apiKey }) };
    for (const address of [addressOf(acme, "get-webhook"), acme.registration?.bot_url ?? ""]) {
      const { host, origin: url, port, pathname, search } = new URL(address);
      const status = (headers: Record<string, string>): Promise<number> =>
        rawStatus({ url }, pathname + search, { ...body, headers });
      expect(await status({ host: `evil.example:${port}` })).toBe(403);
      expect(await status({ host, origin: "https://evil.example" })).toBe(403);
      expect(await status({ host, "sec-fetch-site": "cross-site" })).toBe(403);
      expect(emulator.requests).toHaveLength(seen);
    }
    expect((await call(acme, "get-webhook")).status).toBe(200);
  });

  test("reaches them where others do too: there they are as open as the service", async () => {
    const { emulator } = await startAcme({ host: "0.0.0.0", token });
    const headers = { host: "emulator.internal", origin: "https://elsewhere.example" };
    expect(await rawStatus(emulator, "/acme/apichat", { headers })).toBe(405);
    expect(await rawStatus({ url: emulator.botUrl }, "/", { headers })).toBe(404);
  });
});

describe("the token", () => {
  test("is asked for by every route, before anything is said of it", async () => {
    const { emulator } = await startAcme({ token });
    for (const route of [
      `GET ${health}`,
      "GET /_emulator/events",
      "POST /_emulator/reset",
      "GET /_emulator/nope",
      "GET /_emulator/app.js",
    ]) {
      const answer = await control(emulator, route);
      expect(answer).toMatchObject({ status: 401, body: { error: { code: "unauthorized" } } });
      expect(answer.headers.get("www-authenticate")).toBe("Bearer");
    }
    const wrong = await control(emulator, `GET ${health}`, undefined, { authorization: `Bearer ${token}x` });
    expect(wrong.status).toBe(401);
    const right = await control(emulator, `GET ${health}`, undefined, { authorization: `Bearer ${token}` });
    expect(right.status).toBe(200);
  });

  test("becomes a cookie of the page, and leaves the address", async () => {
    const { emulator } = await startAcme({ token });
    expect(await control(emulator, "GET /_emulator/")).toMatchObject({ status: 401 });
    const opened = await control(emulator, `GET /_emulator/?token=${token}`);
    expect(opened.status).toBe(303);
    expect(opened.headers.get("location")).toBe("/_emulator/");
    const [cookie = "", ...attributes] = (opened.headers.get("set-cookie") ?? "").split("; ");
    expect(attributes).toEqual(["Path=/_emulator", "HttpOnly", "SameSite=Strict"]);
    expect(cookie).not.toContain(token);
    const withCookie = { cookie: `other=1; ${cookie}` };
    expect((await control(emulator, `GET ${health}`, undefined, withCookie)).status).toBe(200);
    const forged = { cookie: `${cookie.slice(0, -1)}_` };
    expect((await control(emulator, `GET ${health}`, undefined, forged)).status).toBe(401);
  });

  test("that is wrong gives no cookie", async () => {
    const { emulator } = await startAcme({ token });
    const opened = await control(emulator, "GET /_emulator/?token=wrong");
    expect(opened.status).toBe(303);
    expect(opened.headers.has("set-cookie")).toBe(false);
  });

  test("is needed to listen where others can reach it", async () => {
    for (const host of ["0.0.0.0", "::", "192.0.2.1", "emulator.example"]) {
      await expect(startEmulator({ host })).rejects.toMatchObject({
        code: "invalid_config",
        message: expect.stringContaining(host) as string,
      });
    }
  });

  test("opens an emulator that listens everywhere, under any of its names", async () => {
    const emulator = await startEmulator({ host: "0.0.0.0", token, workspaces: [{ name: "acme", apiKey }] });
    onTestFinished(() => emulator.close());
    const host = `emulator.internal:${new URL(emulator.url).port}`;
    expect(await rawStatus(emulator, health, { headers: { host } })).toBe(401);
    expect(await rawStatus(emulator, health, { headers: { host, authorization: `Bearer ${token}` } })).toBe(
      200,
    );
  });
});

test("a request without Host, as in HTTP/1.0, is refused", async () => {
  const { emulator } = await startAcme();
  const socket = createConnection(Number(new URL(emulator.url).port), "127.0.0.1");
  onTestFinished(() => void socket.destroy());
  await once(socket, "connect");
  socket.write(`GET ${health} HTTP/1.0\r\n\r\n`);
  expect(await text(socket)).toMatch(/^HTTP\/1.1 40[03] /);
});

describe("the page", () => {
  test("stands at /_emulator/, where / and /_emulator lead", async () => {
    const { emulator } = await startAcme();
    for (const path of ["/", "/_emulator"]) {
      const answer = await control(emulator, `GET ${path}`);
      expect(answer.status).toBe(302);
      expect(answer.headers.get("location")).toBe("/_emulator/");
    }
  });

  const files = ["", "index.html", "app.js", "app.css", "favicon.svg"];
  test.each(files)("%j is strict in what it may load", async (file) => {
    const { emulator } = await startAcme();
    const { headers, status } = await control(emulator, `GET /_emulator/${file}`);
    // 503 says that it is not built yet.
    expect([200, 503]).toContain(status);
    expect(headers.get("content-security-policy")).toBe(
      "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src http: https:; " +
        "media-src http: https:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; " +
        "require-trusted-types-for 'script'",
    );
    expect(Object.fromEntries(headers)).toMatchObject({
      "x-content-type-options": "nosniff",
      "referrer-policy": "no-referrer",
      "cross-origin-opener-policy": "same-origin",
      "cross-origin-resource-policy": "same-origin",
      "cache-control": "no-cache",
    });
  });

  test.each(["image.png", "audio.wav", "video.webm", "file.txt"])(
    "the sample %s is there for everyone",
    async (file) => {
      const { emulator } = await startAcme({ token });
      const answer = await fetch(`${emulator.url}/_emulator/samples/${file}`);
      expect(answer.status).toBe(200);
      expect((await answer.arrayBuffer()).byteLength).toBeGreaterThan(0);
    },
  );
});
