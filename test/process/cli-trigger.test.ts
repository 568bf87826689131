import { expect, test } from "vitest";
import { startEndpoint } from "../support/endpoint.ts";
import { freePort } from "../support/http.ts";
import { runCli, VERIFICATION_KEY } from "./cli-harness.ts";

const environment = { APICHAT_VERIFICATION_KEY: VERIFICATION_KEY };
const trigger = (...parameters: string[]) =>
  runCli(["trigger", ...parameters], { environment, stdin: "from stdin\n" });

test("apichat trigger sends one signed delivery of the given kind, and prints the response", async () => {
  const { url: to, deliveries } = await startEndpoint();
  const text = await trigger(to, "text", "Olá", "--conversation-id", "12", "--sender-id", "9");
  expect(text).toMatchObject({
    exitCode: 0,
    stderr: "",
    stdout: expect.stringMatching(/^delivered {2}HTTP 200 in \d+ ms\n$/),
  });
  const image = await trigger(to, "image", "https://files.example/2.png", "--json");
  expect(image.json).toEqual({ httpStatus: 200, ms: expect.any(Number) });
  await trigger(to, "button_template");
  await trigger(to, "text", "-");
  await trigger(to);
  expect(deliveries.map(({ kind, message }) => [kind, message])).toMatchObject([
    ["text", { sender_id: "9", conv_id: 12, text: "Olá" }],
    ["image", { url: "https://files.example/2.png" }],
    ["button_template", { content_type: "button_template" }],
    ["text", { text: "from stdin" }],
    ["text", {}],
  ]);
});

test("apichat trigger exits with 1 if the endpoint rejects the delivery or cannot be reached", async () => {
  const { url: to } = await startEndpoint({ keys: "a key of somebody else" });
  expect(await trigger(to)).toMatchObject({
    exitCode: 1,
    stdout: expect.stringMatching(/^not accepted {2}HTTP 401 .*\nhint: .*key/),
  });
  const nobody = await trigger(`http://127.0.0.1:${await freePort()}/?token=x`, "--json");
  expect(nobody).toMatchObject({
    exitCode: 1,
    error: { message: expect.stringMatching(/token=\*\*\*.*ECONNREFUSED/) },
  });
});
