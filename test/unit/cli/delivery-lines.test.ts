import { expect, it } from "vitest";
import { deliveryToJson, formatDelivery } from "../../../provider/cli/kept-deliveries.js";
import type { DeadLetter } from "../../../provider/server/spool/database.js";

const ROW: DeadLetter = {
  position: 1,
  id: "5c1f",
  workspace: "acme",
  conversation: "12345678901234567890",
  acceptedMs: Date.UTC(2026, 10, 21),
  buriedMs: Date.UTC(2026, 10, 22),
  attempts: 3,
  failure: "HTTP 422",
  headers: [["x-flow-ns", "f0"]],
  body: Buffer.from('{"text":"Olá"}'),
};

it("gives scripts everything, with exact digits and times in ISO 8601", () => {
  expect(deliveryToJson(ROW)).toEqual({
    id: "5c1f",
    workspace: "acme",
    conversation: "12345678901234567890",
    acceptedAt: "2026-11-21T00:00:00.000Z",
    buriedAt: "2026-11-22T00:00:00.000Z",
    attempts: 3,
    failure: "HTTP 422",
    headers: [["x-flow-ns", "f0"]],
    body: '{"text":"Olá"}',
  });
});

it("gives a body that is not UTF-8 in base64, and keeps a byte order mark", () => {
  const body = Buffer.from([0x7b, 0xff, 0x7d]);
  expect(deliveryToJson({ ...ROW, body })).toMatchObject({ bodyBase64: body.toString("base64") });
  expect(deliveryToJson({ ...ROW, body: Buffer.from("\uFEFF{}") })).toMatchObject({ body: "\uFEFF{}" });
});

it("lets nothing of a delivery drive the terminal", () => {
  const nasty = "\u001b[2Jgone\r\n\u0007";
  const shown = formatDelivery({
    ...ROW,
    conversation: nasty,
    failure: nasty,
    body: Buffer.from(nasty.repeat(99)),
  });
  expect(shown.replaceAll("\n", "")).not.toMatch(/\p{Cc}/u);
  expect(shown.split("\n")).toHaveLength(4);
  expect(shown.length).toBeLessThan(500);
});
