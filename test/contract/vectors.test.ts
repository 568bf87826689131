import { createHmac } from "node:crypto";
import { describe, expect, it } from "vitest";
import { encodeHandshake } from "../../provider/lib/handshake-encoding.js";
import { createDelivery, createResponder, signBody } from "../../provider/responder/index.js";
import type { HandshakeEncoding } from "../../provider/errors/index.js";
import vectors from "../../schema/vectors.json" with { type: "json" };

const { keys } = vectors;
type KeyName = keyof typeof keys;

const responder = createResponder({
  verificationKeys: [keys.current, keys.earlier],
  onDelivery: () => undefined,
});

/** The body as it is sent: padded where the vector says so. */
const bodyOf = ({ body, padTo = 0 }: { body: string; padTo?: number }): string =>
  padTo === 0 ? body : body.replace('"x"', `"${"x".repeat(padTo - body.length + 1)}"`);

const alter = (text: string, { keep, suffix = "" }: { keep?: number; suffix?: string }): string =>
  text.slice(0, keep) + suffix;

describe("schema/vectors.json, as an endpoint in another language reads it", () => {
  it.each(vectors.handshakes)("$name", async (vector) => {
    const { request, encoding, token, challenge, accepted } = vector;
    const parameters = {
      encoding: encoding as HandshakeEncoding,
      token: token === "" ? "" : alter(keys[token as KeyName], vector),
      challenge,
    };
    expect(encodeHandshake("https://chat.example/hook", parameters)).toEqual(request);
    const headers = request.headers as Record<string, string>;
    const sent = { method: "POST", headers, body: request.body || null };
    const answer = await responder(new Request(request.url, sent));
    const text = await answer.text();
    expect([answer.status, text === challenge]).toEqual(accepted ? [200, true] : [401, false]);
  });

  it.each(vectors.deliveries)("$name", async (vector) => {
    const body = bodyOf(vector);
    const headers = new Headers({ "content-type": vector.contentType ?? "application/json" });
    if (vector.signature !== null) headers.set(vector.signature.header, vector.signature.value);
    const request = new Request("https://chat.example/hook", { method: "POST", headers, body });
    const { status } = await responder(request);
    expect(status).toBe(vector.accepted ? 200 : 401);
  });

  const signed = vectors.deliveries.flatMap(({ signature, ...vector }) =>
    signature === null ? [] : { ...vector, signature: { of: undefined, prefix: "sha256=", ...signature } },
  );
  it.each(signed)("the signature of: $name", async (vector) => {
    const { key, of, prefix, value } = vector.signature;
    const covered = of ?? bodyOf(vector);
    const hex = createHmac("sha256", keys[key as KeyName])
      .update(covered)
      .digest("hex");
    expect(value).toBe(alter(`${prefix}${hex}`, vector.signature));
    expect(await signBody(keys[key as KeyName], covered)).toBe(`sha256=${hex}`);
  });

  it("has a body of 1 MiB to the byte", () => {
    expect(vectors.deliveries.map((vector) => Buffer.byteLength(bodyOf(vector)))).toContain(1024 * 1024);
  });

  it("has one delivery of each kind, the same as createDelivery makes", async () => {
    const kinds = ["text", "image", "audio", "video", "file", "button_template", "generic_template"] as const;
    for (const kind of kinds) {
      const made = await createDelivery(kind, { verificationKey: keys.current });
      const vector = vectors.deliveries.find(({ name }) => name === `delivery: ${kind}`);
      expect(vector?.body).toBe(await made.text());
      expect(vector?.signature?.value).toBe(made.headers.get("x-hub-signature-256"));
    }
  });
});
