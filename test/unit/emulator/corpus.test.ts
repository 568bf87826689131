import { describe, expect, test } from "vitest";
import { missing, type CorpusEntry } from "../schema/corpus-values.js";
import { inboundCorpus } from "../schema/corpus-inbound.js";
import { corpus, putAt, toJson } from "../schema/corpus.js";
import {
  apiKey,
  addressOf,
  post,
  received,
  sendTo,
  startAcme,
  startEndpoint,
  startSilent,
  verificationKey,
} from "./harness.js";

/** Every value of one verdict, put into the right body of its shape. */
const casesOf = (entry: CorpusEntry, verdict: "accepted" | "rejected") =>
  Object.entries(entry[verdict]).flatMap(([path, values]) =>
    values.map((value) => {
      const body = putAt(entry.shape.valid, path, value);
      // A press has the title twice, which no schema can say.
      const isTitle =
        verdict === "accepted" && path === "content" && entry.shape.name === "InboundButtonMessage";
      return { path, body: toJson(isTitle ? putAt(body, "submitted_values.0.title", value) : body) };
    }),
  );

describe.each(inboundCorpus)("on bot_url, of $shape.name", (entry) => {
  test("what the schema accepts is taken", async () => {
    const { acme } = await startSilent();
    const cases = casesOf(entry, "accepted");
    const statuses = [];
    for (const { body } of cases) statuses.push((await sendTo(acme, 0, { body })).status);
    expect(statuses).toEqual(cases.map(() => 200));
    expect(received(acme).length).toBe(cases.length);
    expect(cases.length).toBeGreaterThan(5);
  });

  test("what the schema rejects is refused, naming the field or the one that tells the operation", async () => {
    const { acme } = await startSilent();
    const wrong = [];
    // A body that another operation accepts is no wrong message.
    const cases = casesOf(entry, "rejected").filter(({ body }) => !isOfAnother(entry, body));
    for (const { path, body } of cases) {
      const answer = await sendTo(acme, 0, { body });
      const { message } = answer.body as { message: string };
      if (answer.status !== 422 || !namesField(message, path)) wrong.push([path, body, answer.text]);
    }
    expect(wrong).toEqual([]);
    expect(received(acme)).toEqual([]);
    expect(cases.length).toBeGreaterThan(50);
  });
});

const isOfAnother = (entry: CorpusEntry, body: string): boolean =>
  inboundCorpus.some(({ shape }) => shape !== entry.shape && shape.zod.safeParse(JSON.parse(body)).success);

/** The field, what holds it, or what tells the operations apart. */
function namesField(message: string, path: string): boolean {
  const named = message.split("; ").map((problem) => problem.split(": ")[0] ?? "");
  return named.some(
    (field) =>
      path.startsWith(field) ||
      field.startsWith(path) ||
      ["event", "content", "attachments", "submitted_values"].includes(field),
  );
}

const actions = {
  GetWebhookRequest: "get-webhook",
  SetWebhookRequest: "set-webhook",
  DeleteWebhookRequest: "delete-webhook",
} as const;

describe.each(Object.entries(actions))("on the registration interface, of %s", (name, action) => {
  const entry = corpus.find(({ shape }) => shape.name === name);

  test("what the schema rejects is refused", async () => {
    const { acme } = await startAcme();
    const { url, received: handshakes } = await startEndpoint();
    const right = { ChaveApi: apiKey, ...(action === "set-webhook" && valid(url)) };
    expect((await post(addressOf(acme, action), JSON.stringify(right))).status).toBe(200);
    const before = handshakes.length;
    const wrong = [];
    for (const [path, values] of Object.entries(entry?.rejected ?? {})) {
      for (const value of values) {
        const body = toJson(putAt(right, path, value));
        const { status, text } = await post(addressOf(acme, action), body);
        const expected = path === "ChaveApi" ? 401 : 422;
        if (status !== expected || !text.includes(path))
          wrong.push([path, value === missing ? "missing" : value, text]);
      }
    }
    expect(wrong).toEqual([]);
    expect(handshakes.length).toBe(before);
  });
});

const valid = (url: string) => ({ webhook_url: url, webhook_verification_key: verificationKey });
