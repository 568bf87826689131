import { describe, expect, test } from "vitest";
import { CONTROL_ROUTES } from "../../../provider/emulator/control/shapes.js";
import type {
  ConversationView,
  DeliveryView,
  FaultView,
  HandshakeView,
  MessageView,
  RequestView,
  WorkspaceView,
} from "../../../provider/emulator/index.js";
import { control, inbound, reply, startRegistered } from "./control-harness.js";
import { apiKey, startAcme, set, startEndpoint, verificationKey } from "./harness.js";

const acmePath = "/_emulator/workspaces/acme";

describe("the routes of the control API", () => {
  test.each(CONTROL_ROUTES)("%s is answered", async (route) => {
    const { emulator, acme } = await startRegistered();
    const delivery = await acme.deliver(reply);
    const ids = {
      deliveries: delivery.id,
      faults: "f0",
      handshakes: acme.handshakes[0]?.id,
      requests: emulator.requests[0]?.id,
      conversations: delivery.conversation,
    };
    const id = Object.entries(ids).find(([name]) => route.includes(name))?.[1];
    const path = route.replace("{name}", "acme").replace("{id}", String(id));
    const controller = new AbortController();
    const [method = "", address = ""] = path.split(" ");
    const response = await fetch(emulator.url + address, { method, signal: controller.signal });
    // Without a body some are refused: then by the route itself.
    expect([200, 202, 204, 404, 422]).toContain(response.status);
    const { error } =
      response.status === 404 ? ((await response.json()) as { error: { message: string } }) : {};
    expect(error?.message ?? "").not.toContain("route");
    controller.abort();
  });

  test.each(CONTROL_ROUTES)("the path of %s takes no other method", async (route) => {
    const { emulator } = await startAcme();
    const path = (route.split(" ")[1] ?? "").replace(/\{\w+\}/, "acme");
    const allowed = CONTROL_ROUTES.filter((other) => other.split(" ")[1] === route.split(" ")[1]).map(
      (other) => other.split(" ")[0],
    );
    for (const method of ["GET", "POST", "PUT", "PATCH", "DELETE"]) {
      if (allowed.includes(method)) continue;
      const answer = await control(emulator, `${method} ${path}`);
      expect(answer.status).toBe(405);
      expect(answer.headers.get("allow")?.split(", ")).toEqual(allowed);
      expect(answer.body).toMatchObject({ error: { code: "method_not_allowed" } });
    }
  });

  test.each([
    "/_emulator/nope",
    "/_emulator/workspaces/",
    "/_emulator/workspaces/acme/nope",
    "/_emulator/health/x",
  ])("%s is none", async (path) => {
    const { emulator } = await startAcme();
    const answer = await control(emulator, `GET ${path}`);
    expect(answer).toMatchObject({ status: 404, body: { error: { code: "not_found" } } });
  });
});

describe("what is wrong with a call is said", () => {
  test("a body that is no JSON, or not sent as JSON", async () => {
    const { emulator } = await startAcme();
    const url = `${emulator.url}/_emulator/reset`;
    const broken = await fetch(url, {
      method: "POST",
      body: "{",
      headers: { "content-type": "application/json; charset=utf-8" },
    });
    expect(broken.status).toBe(400);
    const form = await fetch(url, { method: "POST", body: "{}", headers: { "content-type": "text/plain" } });
    expect(form.status).toBe(415);
    expect((await fetch(url, { method: "POST" })).status).toBe(204);
  });

  test.each([
    ["POST /_emulator/workspaces", { name: "a b", apiKey }, "name"],
    ["POST /_emulator/workspaces", { name: "beta", apiKey, path: "acme", color: 1 }, "color"],
    ["POST /_emulator/workspaces", { name: "acme", apiKey: "another-key-0123456789" }, "acme"],
    ["POST /_emulator/workspaces", { name: "beta", apiKey: "k", flow: "nope" }, "flow"],
    [`PATCH ${acmePath}`, { mayManageFlow: "yes" }, "mayManageFlow: must be true or false, got a string"],
    [`PATCH ${acmePath}`, { flow: "nope" }, "nope"],
    [`PATCH ${acmePath}`, { webhook_status: "x" }, "webhook_status"],
    [
      `PUT ${acmePath}/registration`,
      { webhook_url: "https://a.example/" },
      "webhook_verification_key: is missing",
    ],
    [`POST ${acmePath}/replies`, { ...reply, text: 1 }, "text"],
    [`POST ${acmePath}/replies`, { ...reply, type: "sticker" }, "type"],
    ["POST /_emulator/faults", { operation: "message" }, "fault"],
    ["POST /_emulator/reset", { workspaces: 1 }, "workspaces: must be true or false"],
    ["GET /_emulator/requests?limit=0", undefined, "limit"],
    ["GET /_emulator/requests?limt=1", undefined, "limt"],
    ["GET /_emulator/health?reveal=yes", undefined, "reveal"],
  ])("%s %j names it", async (route, body, text) => {
    const { emulator } = await startAcme();
    const answer = await control(emulator, route, body);
    expect(answer).toMatchObject({ status: 422, body: { error: { code: "invalid" } } });
    expect(answer.text).toContain(text);
    expect(answer.text).not.toContain(apiKey);
  });

  test.each([
    `GET /_emulator/workspaces/nope`,
    `GET /_emulator/conversations?workspace=nope`,
    `GET /_emulator/requests?workspace=nope`,
    `GET /_emulator/conversations/c0/messages`,
    `GET /_emulator/deliveries?conversation=c0`,
    `GET /_emulator/deliveries/d0`,
    `GET /_emulator/handshakes/h0`,
    `GET /_emulator/requests/r0`,
    `DELETE /_emulator/faults/f0`,
  ])("%s: there is no such thing", async (route) => {
    const { emulator } = await startAcme();
    expect(await control(emulator, route)).toMatchObject({
      status: 404,
      body: { error: { code: "not_found" } },
    });
  });
});

describe("a workspace", () => {
  test("is made, changed and removed", async () => {
    const { emulator } = await startAcme();
    const made = await control(emulator, "POST /_emulator/workspaces", {
      name: "beta",
      apiKey: "key-of-beta-0123",
    });
    expect(made).toMatchObject({
      status: 201,
      body: { name: "beta", mayManageFlow: true, registration: null },
    });
    const beta = emulator.workspace("beta");
    expect(made.body).toMatchObject({ baseUrl: beta.baseUrl, botUrl: beta.botUrl, flowNs: beta.flowNs });
    const change = { mayManageFlow: false, apiKey: "rotated-key-0123", botCode: "another-bot" };
    const changed = await control(emulator, "PATCH /_emulator/workspaces/beta?reveal=true", change);
    expect(changed).toMatchObject({ status: 200, body: change });
    expect(beta).toMatchObject(change);
    expect((await control(emulator, "DELETE /_emulator/workspaces/beta")).status).toBe(204);
    const { body } = await control(emulator, "GET /_emulator/workspaces");
    expect((body as WorkspaceView[]).map(({ name }) => name)).toEqual(["acme"]);
  });

  test("has a registration that somebody else makes and removes, without a handshake", async () => {
    const { emulator, acme } = await startAcme();
    const registration = { webhook_url: "https://other.example/hook", webhook_verification_key: "their-key" };
    const put = await control(emulator, `PUT ${acmePath}/registration`, registration);
    expect(put).toMatchObject({
      status: 200,
      body: { registration: { webhook_url: registration.webhook_url, webhook_status: "verified" } },
    });
    expect(acme.registration).toMatchObject(registration);
    expect(acme.handshakes).toEqual([]);
    expect((await control(emulator, `DELETE ${acmePath}/registration`)).status).toBe(204);
    expect(acme.registration).toBeUndefined();
  });
});

describe("a conversation by hand", () => {
  test("goes through bot_url, and is answered by an agent with a signed delivery", async () => {
    const { emulator, endpoint } = await startRegistered({ flow: "silent" });
    const sent = await control(emulator, `POST ${acmePath}/messages`, inbound);
    expect(sent).toMatchObject({ status: 200, body: { status: 200, body: { status: "ok" } } });
    const refused = await control(emulator, `POST ${acmePath}/messages`, { ...inbound, content: 1 });
    expect(refused).toMatchObject({ status: 422, body: { status: 422, body: { status: "error" } } });

    const answered = await control(emulator, `POST ${acmePath}/replies`, reply);
    expect(answered).toMatchObject({ status: 201, body: { message: { from: "agent", body: reply } } });
    const { delivery } = answered.body as { delivery: DeliveryView };
    await emulator.waitForDelivery({ id: delivery.id });
    expect(endpoint.received.at(-1)?.headers).toHaveProperty("x-hub-signature-256");

    const conversations = (await control(emulator, "GET /_emulator/conversations?workspace=acme"))
      .body as ConversationView[];
    expect(conversations).toMatchObject([
      { contactId: "contact-1", contactName: "Ana", conversationId: "42", messageCount: 2 },
    ]);
    const messages = (
      await control(emulator, `GET /_emulator/conversations/${conversations[0]?.id}/messages`)
    ).body as MessageView[];
    expect(messages).toMatchObject([
      { from: "contact", body: { content: "hello" }, delivery: null },
      { from: "agent", body: { text: "Olá" }, delivery: delivery.id },
    ]);
    const shown = await control(emulator, `GET /_emulator/deliveries/${delivery.id}`);
    expect(shown.body).toMatchObject({
      verdict: "delivered",
      signature: "right",
      conversation: conversations[0]?.id,
      attempts: [{ reason: "", received: { status: 200 } }],
    });
    const listed = await control(emulator, `GET /_emulator/deliveries?conversation=${conversations[0]?.id}`);
    expect(listed.body).toEqual([shown.body]);
  });

  test("is answered also without the fields that are the same in every reply", async () => {
    const { emulator, endpoint } = await startRegistered();
    const { message_type: _type, private: _private, ...short } = reply;
    const answered = await control(emulator, `POST ${acmePath}/replies`, short);
    expect(answered).toMatchObject({ status: 201, body: { message: { body: reply } } });
    await emulator.waitForDelivery();
    expect(JSON.parse(endpoint.received.at(-1)?.body ?? "")).toEqual(reply);
  });

  test.each([
    [{}, "type: "],
    [{ ...reply, message_type: "incoming" }, "message_type: "],
    [{ ...reply, private: "no" }, "private: "],
  ])("is not answered with %j", async (wrong, named) => {
    const { emulator } = await startAcme();
    const answered = await control(emulator, `POST ${acmePath}/replies`, wrong);
    expect(answered.status).toBe(422);
    expect(answered.text).toContain(named);
  });

  test("keeps the digits of a conversation id beyond the safe integers", async () => {
    const { emulator, endpoint } = await startRegistered();
    const text = JSON.stringify(reply).replace('"conv_id":42', '"conv_id":9007199254740993');
    const response = await fetch(`${emulator.url}${acmePath}/replies`, {
      method: "POST",
      body: text,
      headers: { "content-type": "application/json" },
    });
    expect(await response.json()).toMatchObject({ message: { body: { conv_id: "9007199254740993" } } });
    await emulator.waitForDelivery();
    expect(endpoint.received.at(-1)?.body).toContain('"conv_id":9007199254740993');
  });

  test("has a null delivery while nothing is registered", async () => {
    const { emulator } = await startAcme();
    const answered = await control(emulator, `POST ${acmePath}/replies`, reply);
    expect(answered).toMatchObject({ status: 201, body: { delivery: null, message: { delivery: null } } });
  });

  test("a delivery is sent again, byte for byte", async () => {
    const { emulator, acme, endpoint } = await startRegistered();
    const first = await acme.deliver(reply);
    const again = await control(emulator, `POST /_emulator/deliveries/${first.id}/resend`);
    expect(again).toMatchObject({ status: 202, body: { resendOf: first.id } });
    await emulator.waitForDelivery({ resendOf: first.id });
    const [, one, two] = endpoint.received;
    expect(two?.body).toBe(one?.body);
    expect(two?.headers["x-hub-signature-256"]).toBe(one?.headers["x-hub-signature-256"]);
  });
});

describe("what happened", () => {
  test("names the fault of a try of a delivery, and none of the next", async () => {
    const { emulator, acme } = await startRegistered({ deliveryAttempts: 2, deliveryRetryMs: 1 });
    emulator.injectFault({ operation: "delivery", fault: { status: 503 } });
    const { id } = await acme.deliver(reply);
    const { body } = await control(emulator, `GET /_emulator/deliveries/${id}`);
    expect(body).toMatchObject({ attempts: [{ fault: '{"status":503}' }, { fault: "" }] });
  });

  test("is listed with both directions of the wire", async () => {
    const { emulator, endpoint } = await startRegistered();
    const [handshake] = (await control(emulator, "GET /_emulator/handshakes")).body as HandshakeView[];
    expect(handshake).toMatchObject({ workspace: "acme", verdict: "passed", reason: "", encoding: "form" });
    expect(handshake?.sent.body).toContain("hub_mode=subscribe");
    expect(handshake?.received).toMatchObject({ status: 200 });
    const [request] = (await control(emulator, "GET /_emulator/requests?workspace=acme"))
      .body as RequestView[];
    expect(request).toMatchObject({
      interface: "registration",
      operation: "set-webhook",
      method: "POST",
      fault: "",
      received: { status: 200 },
    });
    expect(JSON.parse(request?.sent.body ?? "")).toMatchObject({
      webhook_url: expect.stringContaining(endpoint.url) as string,
    });
  });

  test("is listed up to a limit, the newest of it", async () => {
    const { emulator, acme } = await startRegistered();
    for (const text of ["one", "two", "three"]) await acme.deliver({ ...reply, text });
    const { body } = await control(emulator, "GET /_emulator/deliveries?limit=2");
    expect(
      (body as DeliveryView[]).map(({ sent }) => (JSON.parse(sent.body) as { text: string }).text),
    ).toEqual(["two", "three"]);
  });
});

test("faults are injected, listed, and taken back one by one or all at once", async () => {
  const { emulator } = await startAcme();
  const rule = { operation: "get-webhook", fault: { status: 503 }, every: 2 } as const;
  const made = await control(emulator, "POST /_emulator/faults", rule);
  expect(made).toMatchObject({ status: 201, body: { ...rule, left: null, matched: 0 } });
  await control(emulator, "POST /_emulator/faults", { operation: "message", fault: "html", times: 3 });
  const { id } = made.body as FaultView;
  expect((await control(emulator, "GET /_emulator/faults")).body).toMatchObject([
    { id },
    { left: 3, times: 3 },
  ]);
  expect((await control(emulator, `DELETE /_emulator/faults/${id}`)).status).toBe(204);
  expect((await control(emulator, "GET /_emulator/faults")).body).toHaveLength(1);
  expect((await control(emulator, "DELETE /_emulator/faults")).status).toBe(204);
  expect((await control(emulator, "GET /_emulator/faults")).body).toEqual([]);
  const misspelt = await control(emulator, "POST /_emulator/faults", { ...rule, workspace: "nope" });
  expect(misspelt.status).toBe(404);
});

test("health and settings say how it runs", async () => {
  const { emulator } = await startAcme({ maskKey: true, handshake: { encoding: "json" } });
  expect((await control(emulator, "GET /_emulator/health")).body).toEqual({
    status: "ok",
    version: expect.stringMatching(/^\d+\.\d+\.\d+/) as string,
    workspaces: 1,
    data: null,
  });
  expect((await control(emulator, "GET /_emulator/settings")).body).toMatchObject({
    switches: { maskKey: true, "handshake.encoding": "json", deliveryAttempts: 1, errorShape: "envelope" },
    flows: expect.arrayContaining(["echo"]) as string[],
  });
});

/** An endpoint that answers with what it was sent, as some do for debugging. */
async function startEchoing() {
  const echoing = await startEndpoint((request, response) => {
    response.setHeader("x-seen", encodeURIComponent(request.body));
    response.end(request.body);
  });
  const { emulator, acme } = await startRegistered();
  await fetch(`${acme.baseUrl}?action=set-webhook`, {
    method: "POST",
    headers: { authorization: `Bearer ${apiKey}` },
    body: JSON.stringify({
      ChaveApi: apiKey,
      webhook_url: `${echoing.url}?secret=query-value-0123456789`,
      webhook_verification_key: verificationKey,
    }),
  });
  await acme.deliver({ ...reply, text: `my key is ${verificationKey}` });
  await control(emulator, `POST ${acmePath}/messages`, inbound);
  return { emulator, acme };
}

describe("secrets", () => {
  const secrets = [apiKey, verificationKey, "query-value-0123456789"];

  test("are in no answer, until they are asked for", async () => {
    const { emulator, acme } = await startEchoing();
    const routes = ["workspaces", "handshakes", "requests", "deliveries"].map(
      (name) => `GET /_emulator/${name}`,
    );
    for (const route of routes) {
      const { text } = await control(emulator, route);
      for (const secret of [...secrets, acme.flowApiKey]) expect(text, route).not.toContain(secret);
      const signature = acme.deliveries[0]?.sent.headers["x-hub-signature-256"] ?? "";
      expect(text, route).not.toContain(signature);
    }
    const revealed = await control(emulator, "GET /_emulator/requests?reveal=true");
    for (const secret of [...secrets, acme.flowApiKey]) expect(revealed.text).toContain(secret);
    const [workspace] = (await control(emulator, "GET /_emulator/workspaces?reveal=true"))
      .body as WorkspaceView[];
    expect(workspace).toMatchObject({ apiKey, flowApiKey: acme.flowApiKey });
  });

  test.each(["handshakes", "requests", "deliveries"])(
    "of one of the %s are in clear only when asked for",
    async (list) => {
      const { emulator } = await startEchoing();
      const all = (await control(emulator, `GET /_emulator/${list}`)).body as { id: string }[];
      for (const shown of all) {
        const route = `GET /_emulator/${list}/${shown.id}`;
        expect((await control(emulator, route)).body).toEqual(shown);
        const { text } = await control(emulator, `${route}?reveal=true`);
        expect(text).not.toContain("[redacted]");
      }
      const revealed = await control(emulator, `GET /_emulator/${list}/${all[0]?.id}?reveal=true`);
      expect(secrets.some((secret) => revealed.text.includes(secret))).toBe(true);
    },
  );

  test.each(["form", "json", "multipart", "query"] as const)(
    "are in no handshake in the encoding %s that failed",
    async (encoding) => {
      const { emulator, acme } = await startAcme({ handshake: { encoding } });
      const { url } = await startEndpoint((_, response) => response.end("no"));
      const foreign = "foreign-key-0123456789";
      expect((await set(acme, url, foreign)).status).toBe(422);
      expect(acme.handshakes).toHaveLength(1);
      expect((await control(emulator, "GET /_emulator/handshakes")).text).not.toContain(foreign);
    },
  );

  test("that are wrong are masked too: they may be right elsewhere", async () => {
    const { emulator, acme } = await startAcme();
    const foreign = "foreign-key-0123456789";
    const body = `{"ChaveApi" : "${foreign}", "webhook_url":"https://a.example/?t=${foreign}", "x": tru`;
    await fetch(`${acme.baseUrl}?action=get-webhook&token=${foreign}`, { method: "POST", body });
    await fetch(acme.botUrl, { method: "POST", body: "{}", headers: { authorization: foreign } });
    const { text, body: requests } = await control(emulator, "GET /_emulator/requests");
    expect(requests).toHaveLength(2);
    expect(text).not.toContain(foreign);
    expect((requests as RequestView[])[0]?.sent.body).toContain("https://a.example/?t=***");
  });
});
