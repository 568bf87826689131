import { once } from "node:events";
import { request, type IncomingMessage, type RequestOptions } from "node:http";
import { describe, expect, test } from "vitest";
import { startEmulator } from "../../../provider/emulator/index.js";
import { addressOf, apiKey, call, control, refused, startAcme, startScene, token } from "./harness.js";

const health = "/_emulator/health";
const page = "/_emulator/";

/** Returns the status of a request with headers that fetch does not allow, such as Host. */
async function statusOf(
  { url }: { url: string },
  path: string,
  more: RequestOptions & { body?: string } = {},
) {
  const { hostname, port } = new URL(url);
  const outgoing = request({ hostname, port, path, agent: false, ...more }).end(more.body);
  const [response] = (await once(outgoing, "response")) as [IncomingMessage];
  response.resume();
  return response.statusCode ?? 0;
}

describe("a web page from elsewhere", () => {
  test.each([
    ["evil.example", 403],
    ["evil.example:PORT", 403],
    ["localhost:1", 403],
    ["127.0.0.1", 403],
    ["localhost.evil.example:PORT", 403],
    ["localhost:PORT", 200],
    ["LOCALHOST:PORT", 200],
    ["[::1]:PORT", 200],
  ])("calling the host name %j gets HTTP %i (DNS rebinding)", async (name, status) => {
    const { emulator } = await startAcme();
    const headers = { host: name.replace("PORT", new URL(emulator.url).port) };
    const paths = status === 200 ? [health] : [health, page, "/_emulator/nope"];
    for (const path of paths) expect(await statusOf(emulator, path, { headers })).toBe(status);
  });

  test("cannot call the control API from another origin, including other ports of this machine", async () => {
    const { emulator } = await startAcme();
    const { port } = new URL(emulator.url);
    const others = [`http://127.0.0.1:${Number(port) + 1}`, `https://127.0.0.1:${port}`];
    for (const origin of ["https://evil.example", "null", ...others]) {
      expect(await statusOf(emulator, health, { headers: { origin } })).toBe(403);
      const reset = { method: "POST", headers: { origin } };
      expect(await statusOf(emulator, "/_emulator/reset", reset)).toBe(403);
    }
    const own = { method: "POST", headers: { origin: emulator.url } };
    expect(await statusOf(emulator, "/_emulator/reset", own)).toBe(204);
    const asked = await control(emulator, "OPTIONS /_emulator/reset", undefined, {
      origin: "https://evil.example",
    });
    expect(asked.status).toBe(403);
    expect(asked.headers.has("access-control-allow-origin")).toBe(false);
  });

  test.each(["cross-site", "same-site"])("cannot embed the page (%s), but may link to it", async (site) => {
    const { emulator } = await startAcme();
    const embedded = { "sec-fetch-site": site, "sec-fetch-mode": "no-cors" };
    for (const path of [health, "/_emulator/app.js", "/_emulator/events"]) {
      expect(await statusOf(emulator, path, { headers: embedded })).toBe(403);
    }
    const link = { "sec-fetch-site": site, "sec-fetch-mode": "navigate", "sec-fetch-dest": "document" };
    expect(await statusOf(emulator, page, { headers: link })).not.toBe(403);
    expect(await statusOf(emulator, health, { headers: link })).toBe(403);
    const frame = { ...link, "sec-fetch-dest": "iframe" };
    expect(await statusOf(emulator, page, { headers: frame })).toBe(403);
  });

  test("cannot reach the two interfaces of the emulated service either", async () => {
    const { acme, emulator } = await startScene();
    const seen = emulator.requests.length;
    for (const address of [addressOf(acme, "get-webhook"), acme.botUrl]) {
      const { host, origin: url, port, pathname, search } = new URL(address);
      const strangers: Record<string, string>[] = [
        { host: `evil.example:${port}` },
        { host, origin: "https://evil.example" },
        { host, "sec-fetch-site": "cross-site" },
      ];
      for (const headers of strangers) {
        const raw = { method: "POST", headers, body: JSON.stringify({ ChaveApi: apiKey }) };
        expect(await statusOf({ url }, pathname + search, raw)).toBe(403);
      }
    }
    expect(emulator.requests).toHaveLength(seen);
    expect((await call(acme, "get-webhook")).status).toBe(200);
  });
});

describe("the token", () => {
  test("is required for every path, even one that does not exist", async () => {
    const { emulator } = await startAcme({ token });
    for (const path of ["health", "events", "nope", "app.js"]) {
      const answer = await control(emulator, `GET /_emulator/${path}`);
      expect(answer).toMatchObject({ status: 401, body: { error: {} } });
      expect(answer.headers.get("www-authenticate")).toBe("Bearer");
    }
    const withToken = async (shown: string): Promise<number> =>
      statusOf(emulator, health, { headers: { authorization: `Bearer ${shown}` } });
    expect(await withToken(`${token}x`)).toBe(401);
    expect(await withToken(token)).toBe(200);
  });

  test("in the page's address is removed by a redirect, which sets a cookie if the token is correct", async () => {
    const { emulator } = await startAcme({ token });
    expect(await control(emulator, `GET ${page}`)).toMatchObject({ status: 401 });
    const wrong = await control(emulator, `GET ${page}?token=wrong`);
    expect([wrong.status, wrong.headers.has("set-cookie")]).toEqual([303, false]);
    const opened = await control(emulator, `GET ${page}?token=${token}`);
    expect([opened.status, opened.headers.get("location")]).toEqual([303, page]);
    const [cookie = "", ...attributes] = (opened.headers.get("set-cookie") ?? "").split("; ");
    expect(attributes).toEqual(["Path=/_emulator", "HttpOnly", "SameSite=Strict"]);
    expect(cookie).not.toContain(token);
    const withCookie = (shown: string): Promise<number> =>
      statusOf(emulator, health, { headers: { cookie: shown } });
    expect(await withCookie(`other=1; ${cookie}`)).toBe(200);
    expect(await withCookie(`${cookie.slice(0, -1)}_`)).toBe(401);
  });

  test.each(["0.0.0.0", "::", "192.0.2.1", "emulator.example"])("is needed to listen on %s", async (host) => {
    await expect(startEmulator({ host })).rejects.toThrow(refused(host));
  });

  test("protects the control API, but not the emulated service, if the emulator listens on all addresses", async () => {
    const { emulator } = await startAcme({ host: "0.0.0.0", token });
    const host = `emulator.internal:${new URL(emulator.url).port}`;
    const authorization = `Bearer ${token}`;
    expect(await statusOf(emulator, health, { headers: { host } })).toBe(401);
    expect(await statusOf(emulator, health, { headers: { host, authorization } })).toBe(200);
    const headers = { host: "emulator.internal", origin: "https://elsewhere.example" };
    expect(await statusOf(emulator, "/acme/apichat", { headers })).toBe(405);
    expect(await statusOf({ url: emulator.botUrl }, "/", { headers })).toBe(404);
  });
});

test.each(["", "app.js"])("the response to /_emulator/%s restricts what the page may load", async (file) => {
  const { emulator } = await startAcme();
  const { headers, status } = await control(emulator, `GET /_emulator/${file}`);
  // The status is 503 if the page is not built yet.
  expect([200, 503]).toContain(status);
  expect(Object.fromEntries(headers)).toMatchObject({
    "content-security-policy":
      "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src http: https:; " +
      "media-src http: https:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; " +
      "require-trusted-types-for 'script'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-cache",
  });
});
