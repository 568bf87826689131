import { describe, expect, onTestFinished, test } from "vitest";
import {
  MessageClient,
  RegistrationClient,
  type ApiChatError,
  type FlowApiKeyAs,
} from "../../../provider/client/index.js";
import { startEmulator, type EmulatorOptions, type Workspace } from "../../../provider/emulator/index.js";
import { API_KEY, createAgent, createTestClient, failureOf, startServer } from "./harness.js";
import { createTestMessageClient, FLOW_KEY, textOf } from "./message-harness.js";

async function startAcme(options: EmulatorOptions): Promise<Workspace> {
  const workspaces = [{ name: "acme", apiKey: "an-api-key-0123456789" }];
  const emulator = await startEmulator({ workspaces, flow: "silent", ...options });
  onTestFinished(() => emulator.close());
  return emulator.workspace("acme");
}

/** What an operation came to: `ok`, or the code of its error. */
const outcomeOf = (operation: Promise<unknown>): Promise<string> =>
  operation.then(
    () => "ok",
    (error: ApiChatError) => error.code,
  );

describe("flowApiKeyAs", () => {
  const ways = ["bearer", "raw", "body"] as const;

  test.each(ways)("%s is taken by a service that reads the key so, and by no other", async (flowApiKeyAs) => {
    for (const flowKey of ways) {
      const acme = await startAcme({ flowKey });
      const { botUrl, flowApiKey } = acme;
      const client = new MessageClient({ botUrl, flowApiKey, flowApiKeyAs, dispatcher: createAgent() });
      const isRead = flowKey === flowApiKeyAs;
      expect(await outcomeOf(client.send(textOf(7, "hi")))).toBe(isRead ? "ok" : "unauthorized");
      expect(acme.conversations.flatMap(({ messages }) => messages.map(({ body }) => body))).toEqual(
        isRead ? [textOf(7, "hi")] : [],
      );
    }
  });

  test("{ header } sends the key alone in that header, and in no other place", async () => {
    const { origin, received } = await startServer((_, response) => response.end());
    const client = createTestMessageClient(origin, { flowApiKeyAs: { header: "X-Api-Key" } });
    await client.send(textOf(7, "hi"));
    expect(received[0]?.headers).toMatchObject({ "x-api-key": FLOW_KEY });
    expect(received[0]?.headers).not.toHaveProperty("authorization");
    expect(JSON.parse(received[0]?.body ?? "")).toEqual(textOf(7, "hi"));
  });

  test.each<FlowApiKeyAs>(["raw", "body", { header: "x-api-key" }])(
    "%j keeps the key out of errors",
    async (flowApiKeyAs) => {
      const { origin } = await startServer(({ headers, body }, response) =>
        response.writeHead(422).end(JSON.stringify(headers) + body),
      );
      const client = createTestMessageClient(origin, { flowApiKeyAs });
      expect((await failureOf(client.send(textOf(7, "hi")))).message).not.toContain(FLOW_KEY);
    },
  );

  test("body takes a key that no header can carry", async () => {
    const { origin, received } = await startServer((_, response) => response.end());
    const client = createTestMessageClient(origin, { flowApiKey: "ü key", flowApiKeyAs: "body" });
    await client.send(textOf(7, "hi"));
    expect(JSON.parse(received[0]?.body ?? "")).toEqual({ ...textOf(7, "hi"), ChaveApi: "ü key" });
  });

  test.each<unknown>(["cookie", {}, { header: "" }, { header: "a b" }, { header: "Host" }])(
    "%j is refused",
    (flowApiKeyAs) => {
      expect(() => createTestMessageClient("http://bots.example", { flowApiKeyAs } as never)).toThrow(
        expect.objectContaining({
          code: "invalid_config",
          message: expect.stringContaining("flowApiKeyAs: "),
        }),
      );
    },
  );
});

describe("apiKeyAs", () => {
  test.each([
    ["body", "body", "ok"],
    ["body", "body-and-bearer", "unauthorized"],
    ["body-and-bearer", "body", "ok"],
    ["body-and-bearer", "body-or-bearer", "ok"],
    ["body-and-bearer", "body-and-bearer", "ok"],
  ] as const)("%s is read as %s: %s", async (apiKeyAs, registrationKey, outcome) => {
    const { baseUrl, apiKey } = await startAcme({ registrationKey });
    const client = new RegistrationClient({ baseUrl, apiKey, apiKeyAs, dispatcher: createAgent() });
    expect(await outcomeOf(client.getWebhook())).toBe(outcome);
    expect(await outcomeOf(client.deleteWebhook())).toBe(outcome);
  });

  test("body-and-bearer refuses a key that no header can carry, and an unknown word", () => {
    for (const options of [{ apiKey: API_KEY, apiKeyAs: "body-and-bearer" }, { apiKeyAs: "bearer" }]) {
      expect(() => createTestClient("http://platform.example", options as never)).toThrow(
        expect.objectContaining({ code: "invalid_config" }),
      );
    }
  });
});
