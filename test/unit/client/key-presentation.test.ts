import { describe, expect, onTestFinished, test } from "vitest";
import {
  MessageClient,
  RegistrationClient,
  type ApiChatError,
  type FlowApiKeyAs,
} from "../../../provider/client/index.js";
import { startEmulator, type EmulatorOptions, type Workspace } from "../../../provider/emulator/index.js";
import { startServer } from "../../support/http.js";
import {
  createAgent,
  createTestClient,
  createTestMessageClient,
  failureOf,
  FLOW_KEY,
  textOf,
} from "./harness.js";

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

const HI = textOf(7, "hi");

describe("flowApiKeyAs", () => {
  const ways = ["bearer", "raw", "body"] as const;

  test.each(ways)("%s is taken by a service that reads the key so, and by no other", async (flowApiKeyAs) => {
    for (const flowKey of ways) {
      const acme = await startAcme({ flowKey });
      const { botUrl, flowApiKey } = acme;
      const client = new MessageClient({ botUrl, flowApiKey, flowApiKeyAs, dispatcher: createAgent() });
      const isRead = flowKey === flowApiKeyAs;
      expect(await outcomeOf(client.send(HI))).toBe(isRead ? "ok" : "unauthorized");
      const taken = acme.conversations.flatMap(({ messages }) => messages.map(({ body }) => body));
      expect(taken).toEqual(isRead ? [HI] : []);
    }
  });

  test.each<[FlowApiKeyAs, string, object, object]>([
    [{ header: "X-Api-Key" }, FLOW_KEY, { "x-api-key": FLOW_KEY }, HI],
    ["raw", FLOW_KEY, { authorization: FLOW_KEY }, HI],
    // A key that no header can carry.
    ["body", "ü key", {}, { ...HI, ChaveApi: "ü key" }],
  ])(
    "%j puts the key in one place, and no error shows it",
    async (flowApiKeyAs, flowApiKey, headers, body) => {
      const { url, requests } = await startServer((request, response) =>
        response.writeHead(422).end(JSON.stringify(request.headers) + request.body),
      );
      const client = createTestMessageClient(url, { flowApiKey, flowApiKeyAs });
      expect((await failureOf(client.send(HI))).message).not.toContain(flowApiKey);
      expect(requests[0]?.headers).toMatchObject(headers);
      expect("authorization" in (requests[0]?.headers ?? {})).toBe("authorization" in headers);
      expect(JSON.parse(requests[0]?.body ?? "")).toEqual(body);
    },
  );

  test.each<unknown>(["cookie", {}, { header: "" }, { header: "a b" }, { header: "Host" }])(
    "%j is refused",
    (flowApiKeyAs) => {
      expect(() => createTestMessageClient("http://bots.example", { flowApiKeyAs } as never)).toThrow(
        expect.objectContaining({
          code: "invalid_config",
          problems: [expect.objectContaining({ field: "flowApiKeyAs" })],
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

  // The key of the tests is one that no header can carry.
  test.each(["body-and-bearer", "bearer"])("%s is refused", (apiKeyAs) => {
    expect(() => createTestClient("http://platform.example", { apiKeyAs } as never)).toThrow(
      expect.objectContaining({ code: "invalid_config" }),
    );
  });
});
