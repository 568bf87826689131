import { describe, expect, test } from "vitest";
import type {
  ConversationView,
  FaultView,
  RecordedRequest,
  ReplyAnswer,
} from "../../../provider/emulator/index.js";
import type { Answer as Respond } from "../../support/http.js";
import {
  apiKey,
  control,
  inbound,
  outbound,
  post,
  QUERY_VALUE,
  set,
  startAcme,
  startEndpoint,
  startScene,
  verificationKey,
} from "./harness.js";

const acmePath = "/_emulator/workspaces/acme";
const reply = outbound("Olá", 42);

describe("a wrong call to the control API is rejected", () => {
  test("if its body is too large or not JSON, or its method is wrong", async () => {
    const { emulator } = await startAcme();
    const url = `${emulator.url}/_emulator/reset`;
    const json = { "content-type": "application/json; charset=utf-8" };
    expect(await post(url, "{", json)).toMatchObject({ status: 400 });
    expect(await post(url, "{}", { "content-type": "text/plain" })).toMatchObject({ status: 415 });
    expect(await post(url, `"${"x".repeat(1024 * 1024)}"`, json)).toMatchObject({ status: 413 });
    const wrong = await control(emulator, "PUT /_emulator/workspaces");
    expect([wrong.status, wrong.headers.get("allow")]).toEqual([405, "GET, HEAD, POST"]);
  });

  test.each<[string, object | undefined, string, number?]>([
    ["GET /_emulator/nope", undefined, "route", 404],
    ["GET /_emulator/workspaces/nope", undefined, "nope", 404],
    ["GET /_emulator/requests?workspace=nope", undefined, "nope", 404],
    ["GET /_emulator/deliveries/d0", undefined, "d0", 404],
    ["GET /_emulator/conversations/c0", undefined, "", 404],
    ["POST /_emulator/workspaces", { name: "acme", apiKey: "another-key-0123456789" }, "acme"],
    [`PATCH ${acmePath}`, { mayManageFlow: "yes" }, "mayManageFlow: must be true or false, got a string"],
    [`PATCH ${acmePath}`, { flow: "nope" }, "flow: must be"],
    [`PATCH ${acmePath}`, { flow: "custom" }, "never had a function"],
    [`PUT ${acmePath}/registration`, { webhook_url: "https://a.example/" }, "webhook_verification_key"],
    [`POST ${acmePath}/replies`, { ...reply, text: 1 }, "text: "],
    [`POST ${acmePath}/replies`, { ...reply, type: "sticker" }, "type: "],
    ["POST /_emulator/faults", { operation: "message" }, "fault"],
    ["GET /_emulator/requests?limit=0", undefined, "limit"],
    ["GET /_emulator/requests?limt=1", undefined, "limt"],
    ["GET /_emulator/health?reveal=yes", undefined, "reveal"],
  ])("%s %j", async (route, body, named, status = 422) => {
    const { emulator } = await startAcme();
    const answer = await control(emulator, route, body);
    expect(answer).toMatchObject({ status, body: { error: {} } });
    expect(answer.text).toContain(named);
    expect(answer.text).not.toContain(apiKey);
  });
});

test("a workspace is created, changed and removed", async () => {
  const { emulator } = await startAcme();
  const options = { name: "beta", apiKey: "key-of-beta-0123" };
  const made = await control(emulator, "POST /_emulator/workspaces", options);
  const beta = emulator.workspace("beta");
  const { baseUrl, botUrl, flowNs } = beta;
  const shown = { name: "beta", mayManageFlow: true, registration: null, baseUrl, botUrl, flowNs };
  expect(made).toMatchObject({ status: 201, body: shown });
  const change = { mayManageFlow: false, apiKey: "rotated-key-0123", botCode: "another-bot" };
  const changed = await control(emulator, "PATCH /_emulator/workspaces/beta?reveal=true", change);
  expect(changed).toMatchObject({ status: 200, body: change });
  expect(beta).toMatchObject(change);
  expect((await control(emulator, "DELETE /_emulator/workspaces/beta")).status).toBe(204);
  const { body } = await control(emulator, "GET /_emulator/workspaces");
  expect(body).toMatchObject([{ name: "acme" }]);
});

test("the control API sets and removes a registration without a handshake, as somebody else might", async () => {
  const { emulator, acme } = await startAcme();
  const theirs = { webhook_url: "https://other.example/hook", webhook_verification_key: "their-key" };
  const registration = { webhook_url: theirs.webhook_url, webhook_status: "verified" };
  const put = await control(emulator, `PUT ${acmePath}/registration`, theirs);
  expect(put).toMatchObject({ status: 200, body: { registration } });
  const changed = { webhook_url: "https://other.example/changed-by-hand" };
  expect(await control(emulator, `PATCH ${acmePath}`, changed)).toMatchObject({ status: 200 });
  expect(acme.registration).toMatchObject({ ...theirs, ...changed });
  expect(acme.handshakes).toEqual([]);
  expect((await control(emulator, `DELETE ${acmePath}/registration`)).status).toBe(204);
  expect(acme.registration).toBeUndefined();
});

test("a contact's message goes to bot_url, and an agent's reply is a signed delivery", async () => {
  const { emulator, deliveries } = await startScene({ flow: "silent" });
  const message = inbound("hello", 42);
  const sent = await control(emulator, `POST ${acmePath}/messages`, message);
  expect(sent).toMatchObject({ status: 200, body: { status: 200, body: { status: "ok" } } });
  const wrong = await control(emulator, `POST ${acmePath}/messages`, { ...message, content: 1 });
  expect(wrong).toMatchObject({ status: 422, body: { status: 422, body: { status: "error" } } });

  // The request may omit these fields, because they are the same in every reply.
  const { message_type: _type, private: _private, ...short } = reply;
  const answered = await control(emulator, `POST ${acmePath}/replies`, short);
  expect(answered).toMatchObject({ status: 201, body: { message: { from: "agent", body: reply } } });
  const { delivery } = answered.body as ReplyAnswer;
  await emulator.waitForDelivery({ id: delivery?.id ?? "", verdict: "delivered", signature: "right" });
  expect(deliveries()[0]?.headers).toHaveProperty("x-hub-signature-256");

  const listed = await control(emulator, "GET /_emulator/conversations?workspace=acme");
  const shown = { contactId: "contact-1", contactName: "Ana", conversationId: "42", messageCount: 2 };
  expect(listed.body).toMatchObject([shown]);
  const [{ id } = { id: "" }] = listed.body as ConversationView[];
  const messages = await control(emulator, `GET /_emulator/conversations/${id}/messages`);
  expect(messages.body).toMatchObject([
    { from: "contact", body: { content: "hello" }, delivery: null },
    { from: "agent", body: { text: "Olá" }, delivery: delivery?.id },
  ]);
});

test("faults are injected, listed, and removed one by one or all at once", async () => {
  const { emulator } = await startAcme();
  const list = async () => (await control(emulator, "GET /_emulator/faults")).body;
  const rule = { operation: "get-webhook", fault: { status: 503 }, every: 2 } as const;
  const made = await control(emulator, "POST /_emulator/faults", rule);
  expect(made).toMatchObject({ status: 201, body: { ...rule, left: null, matched: 0 } });
  await control(emulator, "POST /_emulator/faults", { operation: "message", fault: "html", times: 3 });
  const { id } = made.body as FaultView;
  expect((await control(emulator, `DELETE /_emulator/faults/${id}`)).status).toBe(204);
  expect((await control(emulator, `DELETE /_emulator/faults/${id}`)).status).toBe(404);
  expect(await list()).toMatchObject([{ left: 3, times: 3 }]);
  expect((await control(emulator, "DELETE /_emulator/faults")).status).toBe(204);
  expect(await list()).toEqual([]);
});

test("the health route returns the version, and the settings route returns the switches", async () => {
  const { emulator } = await startAcme({ maskKey: true, handshake: { encoding: "json" } });
  const version: unknown = expect.stringMatching(/^\d+\.\d+\.\d+/);
  expect((await control(emulator, "GET /_emulator/health")).body).toEqual({ status: "ok", version });
  expect((await control(emulator, "GET /_emulator/settings")).body).toMatchObject({
    switches: { maskKey: true, handshake: { encoding: "json" }, deliveryAttempts: 1 },
  });
});

/** Echoes the body, as some endpoints do for debugging, and adds the API key in base64. */
const echo: Respond = (request, response) => {
  response.setHeader("x-seen", encodeURIComponent(request.body));
  response.end(`${request.body} ${Buffer.from(apiKey).toString("base64")}`);
};

describe("secrets", () => {
  const secrets = [apiKey, verificationKey, QUERY_VALUE];

  test.each<[string, string[]]>([
    ["handshakes", [verificationKey, QUERY_VALUE]],
    ["requests", secrets],
    ["deliveries", [verificationKey, QUERY_VALUE]],
    ["workspaces", secrets],
  ])("are masked in %s unless the call has reveal=true", async (list, held) => {
    const { emulator, acme } = await startScene({}, echo);
    const { url } = await startEndpoint(echo);
    // This set-webhook fails, because the endpoint returns more than the challenge: it echoes the handshake.
    await set(acme, `${url}?secret=${QUERY_VALUE}`);
    const { request } = await acme.deliver(outbound(`my key is ${verificationKey}`));
    await control(emulator, `POST ${acmePath}/messages`, inbound("hello"));
    const signature = request.headers["x-hub-signature-256"] ?? "";
    const hidden = [...secrets, Buffer.from(apiKey).toString("base64"), acme.flowApiKey, signature];
    const listed = await control(emulator, `GET /_emulator/${list}`);
    for (const secret of hidden) expect(listed.text).not.toContain(secret);
    let revealed = "";
    for (const shown of listed.body as { id?: string; name: string }[]) {
      const route = `GET /_emulator/${list}/${shown.id ?? shown.name}`;
      expect((await control(emulator, route)).body).toEqual(shown);
      revealed += (await control(emulator, `${route}?reveal=true`)).text;
    }
    expect(revealed).not.toContain("[redacted]");
    for (const secret of held) expect(revealed).toContain(secret);
  });

  test("are masked even if the emulator does not know them, because another service may accept them", async () => {
    const { emulator, acme } = await startAcme({ flowKey: { header: "X-Flow" } });
    const foreign = "foreign-key-0123456789";
    const body = `{"ChaveApi" : "${foreign}", "webhook_url":"https://a.example/?t=${foreign}", "x": tru`;
    await post(`${acme.baseUrl}?action=get-webhook&token=${foreign}`, body);
    await post(acme.botUrl, "{}", { authorization: foreign, "X-Flow": foreign });
    const requests = await control(emulator, "GET /_emulator/requests");
    expect(requests.body).toHaveLength(2);
    expect(requests.text).toContain('"x-flow":"');
    expect(requests.text).not.toContain(foreign);
    expect((requests.body as RecordedRequest[])[0]?.request.body).toContain("https://a.example/?t=***");
  });
});
