import { beforeEach, describe, expect, test } from "vitest";
import { startServer, type TestServer } from "../support/http.ts";
import { runCli } from "./cli-harness.ts";

const FLOW_API_KEY = "flow-api-key/+of=acme-0123456789";

let server: TestServer;
let botUrl: string;
beforeEach(async () => {
  server = await startServer((_, response) => response.end('{"status":"ok"}'));
  botUrl = `${server.url}/api/apichat/f0123`;
});

const received = () =>
  server.requests.map(({ headers, body }) => ({
    authorization: headers.authorization,
    header: headers["x-api-key"],
    body: JSON.parse(body) as unknown,
  }));

const CONTACT = ["--sender-id", "42", "--sender-name", "Ana", "--conversation-id", "7"];
const COMMON = {
  message_type: "incoming",
  sender: { id: "42", name: "Ana", email: "", phone_number: "", type: "contact" },
  conversation_id: 7,
};

async function send(parameters: readonly string[]) {
  const environment = { APICHAT_BOT_URL: botUrl, APICHAT_FLOW_API_KEY: FLOW_API_KEY };
  const said = await runCli(["send", ...parameters], { environment });
  expect(said.stdout + said.stderr).not.toContain(FLOW_API_KEY);
  return said;
}

describe("apichat send", () => {
  test("posts one message with the flow's API key, and prints the response", async () => {
    const said = await send(["text", "Olá", ...CONTACT]);
    expect(said).toMatchObject({ exitCode: 0, stdout: 'sent  HTTP 200  {"status":"ok"}\n', stderr: "" });
    const body = { ...COMMON, event: "message_created", content: "Olá" };
    expect(received()).toEqual([{ authorization: `Bearer ${FLOW_API_KEY}`, body }]);
  });

  test.each([
    ["button", ["Yes", "--payload", "yes-1"], { submitted_values: [{ title: "Yes", payload: "yes-1" }] }],
    ...["image", "audio", "video", "file"].map((kind) => {
      const data_url = "https://files.example/1";
      return [kind, [data_url], { attachments: [{ file_type: kind, data_url }] }] as const;
    }),
  ] as const)("sends a message of the kind %s", async (kind, words, body) => {
    expect(await send([kind, ...words, ...CONTACT])).toMatchObject({ exitCode: 0, stderr: "" });
    expect(received()).toMatchObject([{ body: { ...COMMON, ...body } }]);
  });

  test("sends the key in the header that --flow-api-key-as names", async () => {
    expect(await send(["text", "Hello", ...CONTACT, "--flow-api-key-as", "header:X-Api-Key"])).toMatchObject({
      exitCode: 0,
    });
    expect(received()).toMatchObject([{ authorization: undefined, header: FLOW_API_KEY }]);
  });
});
