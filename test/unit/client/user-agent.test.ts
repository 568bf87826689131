import { expect, onTestFinished, test } from "vitest";
import { diagnoseHandshake } from "../../../provider/diagnosis/index.js";
import { startEmulator } from "../../../provider/emulator/index.js";
import { VERSION } from "../../../provider/lib/version.js";
import { answerOk, createTestClient, startServer, type TestServer } from "./harness.js";
import { createTestMessageClient, textOf } from "./message-harness.js";

const agentsAt = ({ received }: TestServer): unknown[] =>
  received.map(({ headers }) => headers["user-agent"]);

test("the clients name the package and its version, and so does the handshake of the preflight", async () => {
  const server = await startServer((_, response) => answerOk(response));
  await createTestClient(server.origin).getWebhook();
  await createTestMessageClient(server.origin).send(textOf(7, "hi"));
  await diagnoseHandshake({ url: `${server.origin}/hook`, verificationKey: "a-key-0123456789" });
  expect(server.received.length).toBeGreaterThan(2);
  const ours = `pulumi-apichat/${VERSION}`;
  expect(new Set(agentsAt(server))).toEqual(new Set([ours, `${ours} (preflight)`]));
});

test("the emulator names itself, in handshakes and deliveries, and in what it sends as a contact", async () => {
  const emulator = await startEmulator({ workspaces: [{ name: "acme", apiKey: "an-api-key" }] });
  onTestFinished(() => emulator.close());
  const acme = emulator.workspace("acme");
  const endpoint = await startServer(({ body }, response) =>
    response.end(new URLSearchParams(body).get("hub_challenge") ?? ""),
  );
  await createTestClient(acme.baseUrl, { apiKey: acme.apiKey }).setWebhook({
    webhookUrl: endpoint.origin,
    webhookVerificationKey: "a-key-0123456789",
  });
  await acme.send(textOf(7, "hi"));
  await expect.poll(() => endpoint.received).toHaveLength(2);
  const ours = `pulumi-apichat-emulator/${VERSION}`;
  expect(agentsAt(endpoint)).toEqual([ours, ours]);
  expect(emulator.requests.at(-1)?.sent.headers["user-agent"]).toBe(ours);
});
