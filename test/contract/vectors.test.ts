import { createHmac } from "node:crypto";
import { describe, expect, it } from "vitest";
import { encodeHandshake } from "../../provider/lib/handshake-encoding.js";
import { createDelivery } from "../../provider/responder/index.js";
import type { HandshakeEncoding } from "../../provider/errors/index.js";
import vectors from "../../schema/vectors.json" with { type: "json" };

const { keys } = vectors;
type KeyName = keyof typeof keys;

/** Returns the body to send, padded if the vector requires it. */
const bodyOf = ({ body, padTo = 0 }: { body: string; padTo?: number }): string =>
  padTo === 0 ? body : body.replace('"x"', `"${"x".repeat(padTo - body.length + 1)}"`);

interface Alteration {
  keep?: number;
  suffix?: string;
  swapCase?: boolean;
}

const alter = (text: string, { keep, suffix = "", swapCase = false }: Alteration): string => {
  const kept = text.slice(0, keep) + suffix;
  return swapCase
    ? kept.replace(/\p{L}/gu, (one) => (/\p{Lu}/u.test(one) ? one.toLowerCase() : one.toUpperCase()))
    : kept;
};

/** A vector's fields, with each placeholder in a value replaced by its text. */
const fill = (fields: (string | boolean)[][], texts: Record<string, string>): [string, unknown][] =>
  fields.map(([name, value]) => [
    String(name),
    typeof value === "string" ? value.replace(/\{(\w+)\}/g, (_, key: string) => String(texts[key])) : value,
  ]);

// Which of these requests an endpoint must accept is tested by test/unit/diagnosis/conformance.test.ts.
describe("schema/vectors.json, as an endpoint in another language reads it", () => {
  it.each(vectors.handshakes)("describes the request of: $name", (vector) => {
    const { request, challenge, contentType, fields } = vector;
    const encoding = vector.encoding as HandshakeEncoding;
    const token = alter(keys[vector.token as KeyName], vector);
    const filled = fields && fill(fields, { token, challenge, foreign: keys.foreign });
    const made = encodeHandshake("https://chat.example/hook", { encoding, token, challenge, fields: filled });
    if (contentType !== undefined) made.headers["content-type"] = contentType;
    expect(made).toEqual(request);
  });

  const signed = vectors.deliveries.flatMap(({ signature, ...vector }) =>
    signature === null
      ? []
      : { ...vector, signature: { of: undefined, prefix: undefined, algorithm: "sha256", ...signature } },
  );
  it.each(signed)("describes the signature of: $name", (vector) => {
    const { key, of, algorithm, prefix = `${algorithm}=`, value } = vector.signature;
    const covered = of ?? bodyOf(vector);
    const hex = createHmac(algorithm, keys[key as KeyName])
      .update(covered)
      .digest("hex");
    expect(value).toBe(alter(`${prefix}${hex}`, vector.signature));
  });

  it("has a body of exactly 1 MiB", () => {
    expect(vectors.deliveries.map((vector) => Buffer.byteLength(bodyOf(vector)))).toContain(1024 * 1024);
  });

  it("has a delivery of each kind, equal to the one that createDelivery makes", async () => {
    const kinds = ["text", "image", "audio", "video", "file", "button_template", "generic_template"] as const;
    for (const kind of kinds) {
      const made = await createDelivery(kind, { verificationKey: keys.current });
      const vector = vectors.deliveries.find(({ name }) => name === `delivery: ${kind}`);
      expect(vector?.body).toBe(await made.text());
      expect(vector?.signature?.value).toBe(made.headers.get("x-hub-signature-256"));
    }
  });
});
