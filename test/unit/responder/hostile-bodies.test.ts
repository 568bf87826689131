import { expect, test } from "vitest";
import { createResponder } from "../../../provider/responder/index.js";

const MIB = 1024 * 1024;

/** Repeats a text between a start and an end, to exactly 1 MiB in total. */
const fill = (start: string, repeated: string, end = ""): string => {
  const room = MIB - start.length - end.length;
  return start + repeated.repeat(Math.ceil(room / repeated.length)).slice(0, room) + end;
};

/** Bodies that are expensive for a careless parser: each looks like a handshake, but is not one. */
const HOSTILE_BODIES = {
  "pairs without =": fill("hub_challenge=c", "&a"),
  "one name again and again": fill("hub_challenge=c", "&hub_challenge=c"),
  "empty pairs": fill("hub_challenge=c", "&"),
  "percent signs": fill("hub_challenge=", "%80%"),
  "nested JSON": fill('{"hub_challenge":', '{"a":'),
  "a number of a million digits": fill('{"hub_challenge":"c","conv_id":', "9", "}"),
  whitespace: fill("", " ", '{"hub_challenge":"c"}'),
  "the lines between parts": fill("--b\r\nhub_challenge\r\n", "--b\r\n\r\n"),
};

const responder = createResponder({ verificationKeys: "verification key", onDelivery: () => undefined });

/** Measures three times and returns the shortest: other load can make a measurement only longer. */
async function timeToReject(body: string): Promise<number> {
  const times: number[] = [];
  for (let round = 0; round < 3; round++) {
    const begun = performance.now();
    const response = await responder(new Request("http://localhost/", { method: "POST", body }));
    times.push(performance.now() - begun);
    expect(response.status).toBe(401);
  }
  return Math.min(...times);
}

// Before a defect was fixed, such a body took three thousand times as long as text.
test.each(Object.entries(HOSTILE_BODIES))("bodies of %s are rejected as fast as text", async (_, body) => {
  const plain = await timeToReject("x".repeat(body.length));
  expect(await timeToReject(body)).toBeLessThan(100 * Math.max(plain, 1));
});
