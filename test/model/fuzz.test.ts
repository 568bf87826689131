import * as fc from "fast-check";
import { expect, test } from "vitest";
import {
  createDelivery,
  createHandshake,
  createResponder,
  signBody,
} from "../../provider/responder/index.js";
import { OutboundFormatError, parseOutbound } from "../../schema/index.js";
import { expectNoCounterexample, firstSeed } from "./search.js";

// Passes random bytes to the code that reads untrusted input.

const SUITE = "fuzz";
const SEARCH = { suite: SUITE, seconds: 60, runsPerSeed: 300, seeds: 1 };
const LIMIT_MS = 3_600_000;
const seed = `, from seed ${firstSeed(SUITE)}`;

const KEY = "a-key-of-2026-that-nobody-guesses";

/** Any text, or one of the texts that often break parsers. */
const piece = fc.oneof(
  fc.string({ unit: "binary" }),
  fc.constantFrom(...'\0 " \\ \r\n { ] -- ; % & = \u2028 \uFEFF 1e999 null'.split(" ")),
);

const edit = (text: string, [at, cut, put]: readonly [number, number, string]): string =>
  text.slice(0, at) + put + text.slice(at + cut);

/** A valid text from which parts were cut, and into which random pieces were inserted. */
const damaged = (text: string): fc.Arbitrary<string> =>
  fc
    .array(fc.tuple(fc.nat(text.length), fc.nat(12), piece), { maxLength: 4 })
    .map((edits) => edits.reduce(edit, text));

const handshakes = (["form", "json", "multipart", "query"] as const).map(async (encoding) =>
  createHandshake({ verificationKey: KEY, encoding }),
);
const deliveries = (["text", "image", "generic_template"] as const).map((kind) =>
  createDelivery(kind, { verificationKey: KEY }),
);
const read = async (sent: Promise<Request>) => {
  const { url, headers } = await sent;
  return { url, headers: [...headers], body: await (await sent).text() };
};
const messages = await Promise.all(deliveries.map(read));
const samples = [...messages, ...(await Promise.all(handshakes.map(read)))];

const request = fc.constantFrom(...samples).chain(({ url, headers, body }) =>
  fc.record({
    url: fc.constant(url),
    headers: fc.tuple(...headers.map(([name, value]) => fc.tuple(fc.constant(name), damaged(value)))),
    body: fc.oneof(damaged(body), piece),
    isSigned: fc.boolean(),
  }),
);

test(
  `no response is a 5xx or contains the key, and only signed requests are delivered${seed}`,
  async () => {
    const delivered: string[] = [];
    const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
    const onDelivery = ({ rawBody }: { rawBody: Uint8Array }): void =>
      void delivered.push(decoder.decode(rawBody));
    const respond = createResponder({ verificationKeys: [KEY], onDelivery });
    const property = fc.asyncProperty(request, async ({ url, headers, body, isSigned }) => {
      const all = [
        ...headers,
        ...(isSigned ? [["x-hub-signature-256", await signBody(KEY, body)] as const] : []),
      ];
      const sent = new Headers();
      // HTTP allows only these characters in a header.
      for (const [name, value] of all) if (/^[\t\x20-\x7E]*$/.test(value)) sent.set(name, value);
      delivered.length = 0;
      const answer = await respond(new Request(url, { method: "POST", headers: sent, body }));
      expect(answer.status).toBeLessThan(500);
      expect(await answer.text()).not.toContain(KEY);
      const isGenuine = isSigned || messages.some((message) => message.body === body);
      expect(delivered).toEqual(isGenuine && delivered.length > 0 ? [body.toWellFormed()] : []);
    });
    await expectNoCounterexample(property, SEARCH);
  },
  LIMIT_MS,
);

test(
  `parsing any body either returns a message or throws an OutboundFormatError${seed}`,
  async () => {
    const bodies = fc.oneof(...messages.map(({ body }) => damaged(body)), fc.json(), piece);
    const property = fc.property(bodies, (body) => {
      try {
        return "raw" in parseOutbound(body);
      } catch (error) {
        return error instanceof OutboundFormatError;
      }
    });
    await expectNoCounterexample(property, SEARCH);
  },
  LIMIT_MS,
);
