import { describe, expect, test } from "vitest";
import type { EmulatorOptions } from "../../../provider/emulator/index.js";
import type { InboundMessage } from "../../../schema/index.js";
import {
  addressOf,
  apiKey,
  call,
  post,
  received,
  sendTo,
  set,
  startEndpoint,
  startSilent,
  text,
} from "./harness.js";

type Reading<Name extends keyof EmulatorOptions> = NonNullable<EmulatorOptions[Name]>;

describe("errorShape", () => {
  const message = "conversation_id: must be an integer; content: must not be empty";
  const errors = { conversation_id: ["must be an integer"], content: ["must not be empty"] };

  test.each<[Reading<"errorShape">, string | null, string]>([
    ["envelope", "application/json", JSON.stringify({ status: "error", message })],
    ["errors", "application/json", JSON.stringify({ message, errors })],
    ["text", "text/plain; charset=utf-8", message],
    ["empty", null, ""],
  ])("%s is the body of a refused message", async (errorShape, contentType, body) => {
    const { acme } = await startSilent({ errorShape });
    const answer = await sendTo(acme, { ...text, content: "", conversation_id: "42" });
    expect([answer.status, answer.headers.get("content-type"), answer.text]).toEqual([
      422,
      contentType,
      body,
    ]);
  });

  test.each<[Reading<"errorShape">, RegExp]>([
    ["envelope", /^\{"status":"error","message":"./],
    ["errors", /^\{"message":".*"errors":\{/],
    ["text", /^\w/],
    ["empty", /^$/],
  ])("%s is the shape of every error of both interfaces", async (errorShape, shape) => {
    const { emulator, acme } = await startSilent({ errorShape });
    emulator.injectFault({ operation: "message", fault: { status: 503 } });
    emulator.injectFault({ operation: "get-webhook", fault: { status: 503 } });
    const large = "x".repeat(1024 * 1024 + 1);
    const answers = [
      await call(acme, "get-webhook"),
      await call(acme, "no-action"),
      await call(acme, "get-webhook", { ChaveApi: "wrong" }),
      await call(acme, "set-webhook"),
      await set(acme, "http://127.0.0.1:1/"),
      await post(addressOf(acme, "get-webhook"), "no json"),
      await post(addressOf(acme, "get-webhook"), large),
      await sendTo(acme, text),
      await sendTo(acme, text, { headers: {} }),
      await sendTo(acme, text, { body: "no json" }),
      await sendTo(acme, text, { body: large }),
      await sendTo(acme, text, { method: "GET" }),
      await sendTo(acme, text, { url: emulator.botUrl }),
    ];
    expect(answers.map(({ status }) => status)).toEqual([
      503, 404, 401, 422, 422, 400, 413, 503, 401, 400, 413, 405, 404,
    ]);
    expect(answers.filter((answer) => !shape.test(answer.text))).toEqual([]);
    // What succeeds has its own shape.
    expect((await call(acme, "get-webhook")).body).toMatchObject({ status: "ok" });
    expect((await sendTo(acme, text)).body).toEqual({ status: "ok" });
  });
});

describe("flowKey", () => {
  // Where no key is asked for, a header is nobody's business; a field too many still is.
  test.each<[Reading<"flowKey">, string, number[]]>([
    ["bearer", "as a bearer token", [200, 401, 401, 401]],
    ["raw", "as the header alone", [401, 200, 401, 401]],
    ["body", "in the body", [401, 401, 200, 401]],
    ["none", "not at all", [200, 200, 422, 200]],
  ])("%s takes the key %s only", async (flowKey, _how, expected) => {
    const { acme } = await startSilent({ flowKey });
    const key = acme.flowApiKey;
    const presented = [
      await sendTo(acme, text, { headers: { authorization: `Bearer ${key}` } }),
      await sendTo(acme, text, { headers: { authorization: key } }),
      await sendTo(acme, { ...text, ChaveApi: key }, { headers: {} }),
      await sendTo(acme, text, { headers: {} }),
    ];
    expect(presented.map(({ status }) => status)).toEqual(expected);
    // send() presents it so, and no message holds it.
    const sent = await acme.send(text as InboundMessage);
    expect(sent).toEqual({ status: 200, body: { status: "ok" } });
    expect(new Set(received(acme).map((body) => JSON.stringify(body)))).toEqual(
      new Set([JSON.stringify(text)]),
    );
  });
});

describe("messageAnswer", () => {
  test("created is 201 and the id of the message", async () => {
    const { acme } = await startSilent({ messageAnswer: "created" });
    const answer = await sendTo(acme, text);
    expect(answer).toMatchObject({ status: 201, body: { id: acme.conversations[0]?.messages[0]?.id } });
  });

  test("empty is 204", async () => {
    const { acme } = await startSilent({ messageAnswer: "empty" });
    expect(await sendTo(acme, text)).toMatchObject({ status: 204, text: "" });
    expect(received(acme)).toEqual([text]);
  });
});

test("senderFields required refuses a sender without e-mail or phone number, and names both", async () => {
  const { acme } = await startSilent({ senderFields: "required" });
  const { id, name, type } = text.sender;
  const answer = await sendTo(acme, { ...text, sender: { id, name, type } });
  expect(answer.status).toBe(422);
  expect(answer.text).toMatch(/sender\.email: is missing.*sender\.phone_number: is missing/);
  expect((await sendTo(acme, text)).status).toBe(200);
});

describe("registrationKey", () => {
  const ChaveApi = apiKey;

  test.each<[Reading<"registrationKey">, string, object, number]>([
    ["body", apiKey, {}, 401],
    ["body", "wrong", { ChaveApi }, 200],
    ["body-or-bearer", apiKey, {}, 200],
    ["body-or-bearer", "wrong", { ChaveApi }, 200],
    ["body-or-bearer", "wrong", {}, 401],
    ["body-or-bearer", apiKey, { ChaveApi: "wrong" }, 401],
    ["body-and-bearer", apiKey, { ChaveApi }, 200],
    ["body-and-bearer", apiKey, {}, 401],
    ["body-and-bearer", "wrong", { ChaveApi }, 401],
  ])("%s with the bearer token %j and the body %j answers %i", async (registrationKey, key, body, status) => {
    const { acme } = await startSilent({ registrationKey });
    const headers = { authorization: `Bearer ${key}` };
    const answer = await post(addressOf(acme, "get-webhook"), JSON.stringify(body), headers);
    expect(answer.status).toBe(status);
  });

  test("body-or-bearer takes a set-webhook whose key is in the header", async () => {
    const { acme } = await startSilent({ registrationKey: "body-or-bearer" });
    const { url } = await startEndpoint();
    const body = JSON.stringify({ webhook_url: url, webhook_verification_key: "a-key" });
    const headers = { authorization: `Bearer ${apiKey}` };
    expect((await post(addressOf(acme, "set-webhook"), body, headers)).status).toBe(200);
    expect(acme.registration?.webhook_url).toBe(url);
  });
});

describe("requestsPerSecond", () => {
  test("refuses what is beyond with 429 and Retry-After, on both ports together, until a second has passed", async () => {
    const { emulator, acme } = await startSilent({ requestsPerSecond: 2 });
    const globex = emulator.addWorkspace({ name: "globex", apiKey });
    expect((await call(acme, "get-webhook")).status).toBe(200);
    expect((await sendTo(acme, text)).status).toBe(200);
    for (const answer of [await call(acme, "delete-webhook"), await sendTo(acme, text)]) {
      expect([answer.status, answer.headers.get("retry-after")]).toEqual([429, "1"]);
    }
    expect(received(acme)).toHaveLength(1);
    expect((await sendTo(globex, text)).status).toBe(200);
    const statusOf = async () => (await sendTo(acme, text)).status;
    await expect.poll(statusOf, { interval: 300 }).toBe(200);
  });

  test("does not count what has no right key", async () => {
    const { acme } = await startSilent({ requestsPerSecond: 1 });
    for (let n = 0; n < 3; n += 1) expect((await sendTo(acme, text, { headers: {} })).status).toBe(401);
    expect((await sendTo(acme, text)).status).toBe(200);
  });
});
