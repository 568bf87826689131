import { describe, expect, test } from "vitest";
import { readRegistration } from "../../../schema/index.js";
import {
  addressOf,
  apiKey,
  call,
  post,
  set,
  startAcme,
  startEndpoint,
  startHeldEndpoint,
  verificationKey,
  type Reading,
} from "./harness.js";

const emptyConfiguration = {
  webhook_url: "",
  webhook_verification_key: "",
  webhook_status: "",
  bot_url: "",
};

describe("set-webhook", () => {
  test("returns the whole configuration, and get-webhook then returns the same", async () => {
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

  test("performs a handshake each time, even if nothing changes", async () => {
    const { acme } = await startAcme();
    const endpoint = await startEndpoint();
    for (const key of [verificationKey, verificationKey, "another-key"]) await set(acme, endpoint.url, key);
    expect(endpoint.received).toHaveLength(3);
    expect(new Set(acme.handshakes.map(({ challenge }) => challenge)).size).toBe(3);
    expect(acme.registration).toMatchObject({ webhook_verification_key: "another-key" });
  });
});

test("after delete-webhook, all fields are empty; the next set-webhook returns the same bot_url", async () => {
  const { acme } = await startAcme({ beforeFirstSet: "nulls" });
  const { url } = await startEndpoint();
  const { botUrl } = acme;
  await set(acme, url);
  for (const action of ["delete-webhook", "get-webhook", "delete-webhook"]) {
    expect((await call(acme, action)).body).toEqual({ status: "ok", data: emptyConfiguration });
  }
  expect(acme.registration).toBeUndefined();
  expect((await set(acme, url)).body).toMatchObject({ data: { bot_url: botUrl } });
});

const somewhere = { webhook_url: "http://127.0.0.1:1/", webhook_verification_key: "k-secret" };
test.each([
  ["get-webhook", { email: "k-secret@b.example" }, "email"],
  ["set-webhook", { ...somewhere, webhook_url: "k-secret" }, "webhook_url"],
  ["set-webhook", { ...somewhere, workspace_id: "k-secret" }, "workspace_id"],
])("%s with %j gets a 422 that names the field but no key", async (action, fields, field) => {
  const { acme } = await startAcme();
  const answer = await call(acme, action, fields);
  const message: unknown = expect.stringContaining(field);
  expect(answer).toMatchObject({ status: 422, body: { status: "error", message } });
  expect(answer.text).not.toMatch(/k-secret|test-api-key/);
  expect(acme.handshakes).toEqual([]);
});

test("a call gets 404 if it lacks the query of the workspace's base URL", async () => {
  const { acme, emulator } = await startAcme({
    workspaces: [{ name: "acme", apiKey, baseUrlQuery: "tenant=acme&region=br" }],
  });
  const bare = `${emulator.url}/acme/apichat`;
  expect(acme.baseUrl).toBe(`${bare}?tenant=acme&region=br`);
  const statusOf = async (query: string): Promise<number> =>
    (await post(`${bare}?${query}`, JSON.stringify({ ChaveApi: apiKey }))).status;
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

test("calls to one workspace are handled one after the other, without delaying other workspaces", async () => {
  const { emulator, acme } = await startAcme();
  const globex = emulator.addWorkspace({ name: "globex", apiKey });
  const endpoint = await startHeldEndpoint();
  const setting = set(acme, endpoint.url);
  const finish = await endpoint.asked;
  const reading = call(acme, "get-webhook");
  await expect.poll(() => emulator.requests).toHaveLength(2);
  await call(globex, "get-webhook");
  expect(emulator.requests.map(({ response }) => response?.status)).toEqual([undefined, undefined, 200]);
  finish();
  expect((await reading).body).toMatchObject({ data: { webhook_url: endpoint.url } });
  expect((await setting).status).toBe(200);
});

test("a request is recorded unmasked, even if its key is wrong or its address does not exist", async () => {
  const { emulator, acme } = await startAcme();
  await call(acme, "get-webhook", { ChaveApi: "wrong-key" });
  await post(`${emulator.url}/nowhere?action=get-webhook`, "no json");
  const url = `${emulator.url}/acme/apichat?action=get-webhook`;
  expect(emulator.requests).toMatchObject([
    { workspace: "acme", operation: "get-webhook", url, request: { body: '{"ChaveApi":"wrong-key"}' } },
    { workspace: null, operation: "get-webhook", response: { status: 404 }, request: { body: "no json" } },
  ]);
});

const nulls = { webhook_url: null, webhook_verification_key: null, webhook_status: null, bot_url: null };
test.each<[Reading<"beforeFirstSet"> | undefined, object]>([
  [undefined, { status: "ok", data: emptyConfiguration }],
  ["null-fields", { status: "ok", data: nulls }],
  ["nulls", { status: "ok", data: null }],
  ["missing", { status: "ok" }],
  ["empty-array", { status: "ok", data: [] }],
])("beforeFirstSet %s determines get-webhook's initial response", async (beforeFirstSet, expected) => {
  const { acme } = await startAcme({ beforeFirstSet });
  const { status, body } = await call(acme, "get-webhook");
  expect(status).toBe(200);
  expect(body).toStrictEqual(expected);
  expect(readRegistration((body as { data?: unknown }).data)).toBeUndefined();
});

test.each([
  ["HTTP://Chat.Acme.EXAMPLE:80/Hook/", "http://chat.acme.example/Hook"],
  ["https://chat.acme.example:443", "https://chat.acme.example"],
  ["https://chat.acme.example:8443/a/?B=C", "https://chat.acme.example:8443/a?B=C"],
])("normalizeUrl makes get-webhook return %s as %s, and keeps the original", async (url, shown) => {
  const { acme } = await startAcme({ normalizeUrl: true });
  acme.takeOver({ webhook_url: url, webhook_verification_key: verificationKey });
  expect((await call(acme, "get-webhook")).body).toMatchObject({ data: { webhook_url: shown } });
  expect(acme.registration?.webhook_url).toBe(url);
});

const ChaveApi = apiKey;
test.each<[Reading<"registrationKey">, string, object, number]>([
  ["body", apiKey, {}, 401],
  ["body", "", { ChaveApi: "wrong-key" }, 401],
  ["body", "", { ChaveApi: [apiKey] }, 401],
  ["body-or-bearer", apiKey, {}, 200],
  ["body-or-bearer", "wrong-key", {}, 401],
  ["body-or-bearer", apiKey, { ChaveApi: "wrong-key" }, 401],
  ["body-and-bearer", apiKey, { ChaveApi }, 200],
  ["body-and-bearer", "wrong-key", { ChaveApi }, 401],
])("with registrationKey %s, the bearer token %j and the body %j get HTTP %i", async (...row) => {
  const [registrationKey, key, body, status] = row;
  const { acme } = await startAcme({ registrationKey });
  const headers = { authorization: `Bearer ${key}` };
  const answer = await post(addressOf(acme, "get-webhook"), JSON.stringify(body), headers);
  expect(answer.status).toBe(status);
  expect(answer.text).not.toMatch(/wrong-key|test-api-key/);
});
