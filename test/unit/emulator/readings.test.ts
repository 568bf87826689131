import { describe, expect, test, vi } from "vitest";
import type { EmulatorOptions } from "../../../provider/emulator/index.js";
import { addressOf, apiKey, call, post, set, startAcme, startEndpoint } from "./harness.js";
import { received, sendTo, startSilent, text } from "./messages-harness.js";

type Reading<Name extends keyof EmulatorOptions> = NonNullable<EmulatorOptions[Name]>;

describe("errorShape", () => {
  const message = "conversation_id: must be an integer; content: must not be empty";
  const wrong = { ...text, content: "", conversation_id: "42" };

  test.each<[Reading<"errorShape">, string | null, unknown]>([
    ["envelope", "application/json", { status: "error", message }],
    [
      "errors",
      "application/json",
      { message, errors: { conversation_id: ["must be an integer"], content: ["must not be empty"] } },
    ],
    ["text", "text/plain; charset=utf-8", message],
    ["empty", null, ""],
  ])("%s is the body of a refused message", async (errorShape, contentType, body) => {
    const { acme } = await startSilent({ errorShape });
    const answer = await sendTo(acme, wrong);
    expect(answer.status).toBe(422);
    expect(answer.headers.get("content-type")).toBe(contentType);
    expect(contentType === "application/json" ? answer.json() : answer.text).toEqual(body);
  });

  const readings: Reading<"errorShape">[] = ["envelope", "errors", "text", "empty"];
  test.each(readings)("%s is the shape of every error of both interfaces", async (errorShape) => {
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
    const shapes = {
      envelope: /^\{"status":"error","message":"./,
      errors: /^\{"message":".*"errors":\{/,
      text: /^\w/,
      empty: /^$/,
    };
    expect(answers.filter((answer) => !shapes[errorShape].test(answer.text))).toEqual([]);
  });

  test("is not that of what succeeds", async () => {
    const { acme } = await startSilent({ errorShape: "empty" });
    expect((await sendTo(acme, text)).json()).toEqual({ status: "ok" });
    expect((await call(acme, "get-webhook")).json()).toMatchObject({ status: "ok" });
  });
});

describe("flowKey", () => {
  test.each<[Reading<"flowKey">, string]>([
    ["bearer", "as a bearer token"],
    ["raw", "as the header alone"],
    ["body", "in the body"],
    ["none", "not at all"],
  ])("%s takes the key %s only", async (flowKey) => {
    const { acme } = await startSilent({ flowKey });
    const key = acme.flowApiKey;
    const presented = {
      bearer: await sendTo(acme, text, { headers: { authorization: `Bearer ${key}` } }),
      raw: await sendTo(acme, text, { headers: { authorization: key } }),
      body: await sendTo(acme, { ...text, ChaveApi: key }, { headers: {} }),
      none: await sendTo(acme, text, { headers: {} }),
    };
    const statuses = Object.fromEntries(Object.entries(presented).map(([how, { status }]) => [how, status]));
    const others = { bearer: 401, raw: 401, body: 401, none: 401 };
    // Where no key is asked for, a header is nobody's business; a field too many still is.
    const expected =
      flowKey === "none" ? { bearer: 200, raw: 200, body: 422, none: 200 } : { ...others, [flowKey]: 200 };
    expect(statuses).toEqual(expected);
    expect(new Set(received(acme).map((body) => JSON.stringify(body)))).toEqual(
      new Set([JSON.stringify(text)]),
    );
  });

  const readings: Reading<"flowKey">[] = ["bearer", "raw", "body", "none"];
  test.each(readings)("%s is how send() presents it", async (flowKey) => {
    const { acme } = await startSilent({ flowKey });
    expect(await acme.send(text as Parameters<typeof acme.send>[0])).toEqual({
      status: 200,
      body: { status: "ok" },
    });
    expect(received(acme)).toEqual([text]);
  });
});

describe("messageAnswer", () => {
  test("ok is 200 and an envelope without data", async () => {
    const { acme } = await startSilent({ messageAnswer: "ok" });
    const answer = await sendTo(acme, text);
    expect([answer.status, answer.json()]).toEqual([200, { status: "ok" }]);
  });

  test("created is 201 and the id of the message", async () => {
    const { acme } = await startSilent({ messageAnswer: "created" });
    const answer = await sendTo(acme, text);
    expect([answer.status, answer.json()]).toEqual([201, { id: acme.conversations[0]?.messages[0]?.id }]);
  });

  test("empty is 204", async () => {
    const { acme } = await startSilent({ messageAnswer: "empty" });
    const answer = await sendTo(acme, text);
    expect([answer.status, answer.text]).toEqual([204, ""]);
    expect(received(acme)).toEqual([text]);
  });
});

describe("senderFields", () => {
  test("required refuses a sender without e-mail or phone number, and names both", async () => {
    const { acme } = await startSilent({ senderFields: "required" });
    const { id, name, type } = text.sender;
    const answer = await sendTo(acme, { ...text, sender: { id, name, type } });
    expect(answer.status).toBe(422);
    expect(answer.text).toMatch(/sender\.email: is missing.*sender\.phone_number: is missing/);
    expect((await sendTo(acme, text)).status).toBe(200);
  });

  test("optional takes it", async () => {
    const { acme } = await startSilent({ senderFields: "optional" });
    const { id, name, type } = text.sender;
    expect((await sendTo(acme, { ...text, sender: { id, name, type } })).status).toBe(200);
  });
});

/** The status of a POST with a bearer token. */
const bearer = async (url: string, key: string, body: object = {}): Promise<number> => {
  const headers = { authorization: `Bearer ${key}` };
  return (await fetch(url, { method: "POST", headers, body: JSON.stringify(body) })).status;
};

describe("registrationKey", () => {
  test("body does not look at a bearer token", async () => {
    const { acme } = await startAcme({ registrationKey: "body" });
    expect(await bearer(addressOf(acme, "get-webhook"), apiKey)).toBe(401);
    expect(await bearer(addressOf(acme, "get-webhook"), "wrong", { ChaveApi: apiKey })).toBe(200);
  });

  test("body-or-bearer takes either, and the one in the body counts", async () => {
    const { acme } = await startAcme({ registrationKey: "body-or-bearer" });
    const { url } = await startEndpoint();
    expect(await bearer(addressOf(acme, "get-webhook"), apiKey)).toBe(200);
    const fields = { webhook_url: url, webhook_verification_key: "a-key" };
    expect(await bearer(addressOf(acme, "set-webhook"), apiKey, fields)).toBe(200);
    expect(acme.registration?.webhook_url).toBe(url);
    expect((await call(acme, "get-webhook")).status).toBe(200);
    expect(await bearer(addressOf(acme, "get-webhook"), "wrong")).toBe(401);
    expect(await bearer(addressOf(acme, "get-webhook"), apiKey, { ChaveApi: "wrong" })).toBe(401);
  });
});

describe("requestsPerSecond", () => {
  test("refuses what is beyond with 429 and Retry-After, on both ports together, until a second has passed", async () => {
    const { emulator, acme } = await startSilent({ requestsPerSecond: 2 });
    const globex = emulator.addWorkspace({ name: "globex", apiKey });
    expect((await call(acme, "get-webhook")).status).toBe(200);
    expect((await sendTo(acme, text)).status).toBe(200);
    const refused = [await call(acme, "delete-webhook"), await sendTo(acme, text)];
    expect(refused.map(({ status, headers }) => [status, headers.get("retry-after")])).toEqual([
      [429, "1"],
      [429, "1"],
    ]);
    expect(received(acme)).toHaveLength(1);
    expect((await sendTo(globex, text)).status).toBe(200);
    await vi.waitFor(async () => expect((await sendTo(acme, text)).status).toBe(200), {
      timeout: 10_000,
      interval: 300,
    });
  });

  test("does not count what has no right key", async () => {
    const { acme } = await startSilent({ requestsPerSecond: 1 });
    for (let n = 0; n < 3; n += 1) expect((await sendTo(acme, text, { headers: {} })).status).toBe(401);
    expect((await sendTo(acme, text)).status).toBe(200);
  });
});
