import { describe, expect, test } from "vitest";
import { MessageClient, RegistrationClient } from "../../../provider/client/index.js";
import { apiKey, startAcme, startEndpoint } from "./harness.js";

// All that the emulator of any test here receives and answers is held against schema/openapi.json when the test ends.

describe("what a client sends is in schema/openapi.json", () => {
  test("for the calls of the RegistrationClient", async () => {
    const { emulator, acme } = await startAcme();
    const { url } = await startEndpoint();
    const client = new RegistrationClient({ baseUrl: acme.baseUrl, apiKey });
    await client.setWebhook({ webhookUrl: url, webhookVerificationKey: "a-verification-key" });
    await client.getWebhook();
    await client.deleteWebhook();
    const actions = emulator.requests.map(({ action }) => action);
    expect(actions).toEqual(["set-webhook", "get-webhook", "delete-webhook"]);
  });

  test("for the messages of the MessageClient", async () => {
    const { emulator, acme } = await startAcme();
    const client = new MessageClient({ botUrl: acme.botUrl, flowApiKey: acme.flowApiKey });
    const address = { sender: { id: "u-1", name: "Ana" }, conversationId: 42 };
    const media = { ...address, url: "https://cdn.example/a" };
    await client.sendText({ ...address, text: "hello" });
    await client.sendButton({ ...address, title: "Yes", payload: "YES" });
    await client.sendImage(media);
    await client.sendAudio(media);
    await client.sendVideo(media);
    await client.sendFile(media);
    expect(emulator.requests).toHaveLength(6);
  });
});
