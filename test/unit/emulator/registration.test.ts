import { describe, expect, test } from "vitest";
import {
  addressOf,
  apiKey,
  call,
  emptyConfiguration,
  post,
  sendRequest,
  set,
  startAcme,
  startEndpoint,
  startHeldEndpoint,
  verificationKey,
} from "./harness.js";

describe("set-webhook", () => {
  test("answers the whole configuration, which get-webhook shows from then on", async () => {
    const { acme } = await startAcme();
    const { url } = await startEndpoint();
    const data = {
      webhook_url: url,
      webhook_verification_key: verificationKey,
      webhook_status: "verified",
      bot_url: acme.botUrl,
    };
    const answer = await set(acme, url);
    expect(answer).toMatchObject({ status: 200, body: { status: "ok", data } });
    expect(answer.headers.get("content-type")).toBe("application/json");
    expect((await call(acme, "get-webhook")).body).toEqual({ status: "ok", data });
    expect(acme.registration).toEqual(data);
  });

  test("makes a handshake each time, also when nothing changes", async () => {
    const { acme } = await startAcme();
    const endpoint = await startEndpoint();
    for (const key of [verificationKey, verificationKey, "another-key"]) await set(acme, endpoint.url, key);
    expect(endpoint.received).toHaveLength(3);
    expect(new Set(acme.handshakes.map(({ challenge }) => challenge)).size).toBe(3);
    expect(acme.registration).toMatchObject({ webhook_verification_key: "another-key" });
  });
});

describe("delete-webhook", () => {
  test("leaves four empty strings, also for get-webhook and when repeated", async () => {
    const { acme } = await startAcme({ beforeFirstSet: "nulls" });
    await set(acme, (await startEndpoint()).url);
    for (const action of ["delete-webhook", "get-webhook", "delete-webhook"]) {
      expect((await call(acme, action)).body).toEqual({ status: "ok", data: emptyConfiguration });
    }
    expect(acme.registration).toBeUndefined();
  });

  test("keeps the bot: the same bot_url after the next set-webhook", async () => {
    const { acme } = await startAcme();
    const { url } = await startEndpoint();
    const before = acme.botUrl;
    await set(acme, url);
    await call(acme, "delete-webhook");
    expect((await set(acme, url)).body).toMatchObject({ data: { bot_url: before } });
  });
});

describe("a request that is refused", () => {
  test("other methods get 405 with allow", async () => {
    const { acme } = await startAcme();
    for (const method of ["GET", "PUT", "DELETE", "OPTIONS"]) {
      const answer = await sendRequest(addressOf(acme, "get-webhook"), { method });
      expect([answer.status, answer.headers.get("allow")]).toEqual([405, "POST"]);
    }
  });

  test("another action, and an address without a workspace get 404", async () => {
    const { emulator, acme } = await startAcme();
    for (const action of ["", "getWebhook", "toString", "get-webhook&action=set-webhook"]) {
      expect([action, (await call(acme, action)).status]).toEqual([action, 404]);
    }
    for (const path of ["/globex/apichat", "/acme", "/acme/apichat/", "/"]) {
      const answer = await post(`${emulator.url}${path}?action=get-webhook`, `{"ChaveApi":"${apiKey}"}`);
      expect([path, answer.status]).toEqual([path, 404]);
    }
  });

  test.each([
    {},
    { ChaveApi: "wrong-key-98765" },
    { ChaveApi: "" },
    { ChaveApi: null },
    { ChaveApi: [apiKey] },
  ])("%j is unauthorized, and no key is echoed", async (body) => {
    const { acme } = await startAcme();
    const answer = await post(addressOf(acme, "get-webhook"), JSON.stringify(body));
    const message: unknown = expect.stringContaining("ChaveApi");
    expect(answer).toMatchObject({ status: 401, body: { status: "error", message } });
    expect(answer.text).not.toMatch(/wrong-key|test-api-key/);
  });

  test.each([
    [`ChaveApi=${apiKey}`, 400],
    ["[]", 422],
  ])("the body %j gets %i", async (body, status) => {
    const { acme } = await startAcme();
    expect(await post(addressOf(acme, "get-webhook"), body)).toMatchObject({ status });
  });

  test("a body beyond 1 MiB gets 413", async () => {
    const { acme } = await startAcme();
    expect((await call(acme, "get-webhook", { padding: "x".repeat(1024 * 1024) })).status).toBe(413);
  });

  const somewhere = { webhook_url: "http://127.0.0.1:1/", webhook_verification_key: "k-secret" };
  test.each([
    ["get-webhook", { email: "a@b.example" }, "email"],
    ["delete-webhook", { webhook_url: "http://127.0.0.1:1/" }, "webhook_url"],
    ["set-webhook", { ...somewhere, webhook_url: "k-secret" }, "webhook_url"],
    ["set-webhook", { ...somewhere, webhook_verification_key: "" }, "webhook_verification_key"],
    ["set-webhook", { ...somewhere, workspace_id: "k-secret" }, "workspace_id"],
  ])("%s with %j gets 422 that names the field and no key", async (action, fields, field) => {
    const { acme } = await startAcme();
    const answer = await call(acme, action, fields);
    const message: unknown = expect.stringContaining(field);
    expect(answer).toMatchObject({ status: 422, body: { status: "error", message } });
    expect(answer.text).not.toMatch(/k-secret|test-api-key/);
    expect(acme.handshakes).toEqual([]);
  });
});

describe("addresses", () => {
  test("a query of the base URL belongs to the address", async () => {
    const { acme, emulator } = await startAcme({
      workspaces: [{ name: "acme", apiKey, baseUrlQuery: "tenant=acme&region=br" }],
    });
    const bare = `${emulator.url}/acme/apichat`;
    expect(acme.baseUrl).toBe(`${bare}?tenant=acme&region=br`);
    const statusOf = async (query: string): Promise<number> =>
      (await post(`${bare}?${query}`, JSON.stringify({ ChaveApi: apiKey }))).status;
    expect(await statusOf("tenant=acme&region=br&action=get-webhook")).toBe(200);
    expect(await statusOf("action=get-webhook&region=br&tenant=acme")).toBe(200);
    expect(await statusOf("tenant=acme&region=us&action=get-webhook")).toBe(404);
    expect(await statusOf("action=get-webhook")).toBe(404);
  });

  test("one API key serves many workspaces, each with its own registration and bot", async () => {
    const { emulator, acme } = await startAcme();
    const globex = emulator.addWorkspace({ name: "globex", apiKey });
    const { url } = await startEndpoint();
    await set(acme, url, "key-of-acme");
    await set(globex, url, "key-of-globex");
    expect(acme.registration?.webhook_verification_key).toBe("key-of-acme");
    expect(globex.registration?.webhook_verification_key).toBe("key-of-globex");
    expect(globex.botUrl).not.toBe(acme.botUrl);
  });

  test("workspaces on one path are told apart by their API keys", async () => {
    const { emulator, acme } = await startAcme();
    const globex = emulator.addWorkspace({ name: "globex", path: "acme", apiKey: "another-api-key" });
    expect(globex.baseUrl).toBe(acme.baseUrl);
    await set(globex, (await startEndpoint()).url);
    expect(acme.registration).toBeUndefined();
    expect((await call(globex, "get-webhook")).body).toMatchObject({ data: { bot_url: globex.botUrl } });
    expect((await call(acme, "get-webhook", { ChaveApi: "a-third-key" })).status).toBe(401);
  });

  test("a rotated API key works at once, the old one no longer", async () => {
    const { acme } = await startAcme();
    acme.apiKey = "rotated-api-key";
    expect((await call(acme, "get-webhook")).status).toBe(200);
    expect((await call(acme, "get-webhook", { ChaveApi: apiKey })).status).toBe(401);
  });
});

describe("calls at the same time", () => {
  test("of one workspace are served one after the other, those of another meanwhile", async () => {
    const { emulator, acme } = await startAcme();
    const globex = emulator.addWorkspace({ name: "globex", apiKey });
    const endpoint = await startHeldEndpoint();
    const setting = set(acme, endpoint.url);
    const finish = await endpoint.asked;
    const reading = call(acme, "get-webhook");
    await expect.poll(() => emulator.requests).toHaveLength(2);
    await call(globex, "get-webhook");
    expect(emulator.requests.map(({ status }) => status)).toEqual([undefined, undefined, 200]);
    finish();
    expect((await reading).body).toMatchObject({ data: { webhook_url: endpoint.url } });
    expect((await setting).status).toBe(200);
    expect(endpoint.received).toHaveLength(1);
  });
});

test("the record of requests holds what was sent, with keys as sent, and what was answered", async () => {
  const { emulator, acme } = await startAcme();
  await call(acme, "get-webhook", { ChaveApi: "wrong-key" });
  await call(acme, "set-webhook", { webhook_url: "nonsense" });
  await post(`${emulator.url}/nowhere?action=get-webhook`, "no json");
  expect(emulator.requests).toMatchObject([
    {
      interface: "registration",
      workspace: "acme",
      action: "get-webhook",
      method: "POST",
      url: `${emulator.url}/acme/apichat?action=get-webhook`,
      status: 401,
      sent: { body: '{"ChaveApi":"wrong-key"}', headers: { "user-agent": expect.any(String) } },
    },
    {
      workspace: "acme",
      action: "set-webhook",
      status: 422,
      sent: { body: JSON.stringify({ ChaveApi: apiKey, webhook_url: "nonsense" }) },
    },
    { workspace: null, action: "get-webhook", status: 404, sent: { body: "no json" } },
  ]);
  expect(Math.abs(Date.now() - Date.parse(emulator.requests[0]?.at ?? ""))).toBeLessThan(60_000);
});
