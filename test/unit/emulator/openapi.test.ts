import { expect, it } from "vitest";
import { MessageClient } from "../../../provider/client/index.js";
import { openApi } from "../../support/openapi.js";
import { startAcme } from "./harness.js";

// At the end of every test of this folder, everything that its emulator received and sent is checked
// against schema/openapi.json.

it("names the servers of an emulator on this machine, at its own ports", () => {
  const messages = openApi.paths["/api/apichat/{bot_code}"];
  expect(openApi.servers.map(({ url }) => url)).toContain("http://127.0.0.1:4000");
  expect(messages?.servers?.map(({ url }) => url)).toContain("http://127.0.0.1:4001");
});

it("describes the messages of the MessageClient", async () => {
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
