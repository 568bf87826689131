import { expect, test } from "vitest";
import { MessageClient } from "../../../provider/client/index.js";
import { startAcme } from "./harness.js";

// When a test here ends, the harness compares all requests and responses of its emulator with schema/openapi.json.

test("the document describes the messages of the MessageClient", async () => {
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
