import { beforeAll, beforeEach, describe, expect, test } from "vitest";
import { startServer, type TestServer } from "../support/http.ts";
import { errorOf, makeFolder, runCli, type CliOptions } from "./cli-harness.ts";
import type { Said } from "./program.ts";

const FLOW_API_KEY = "flow-api-key/+of=acme-0123456789";

let answer = { status: 200, body: '{"status":"ok"}' };
let server: TestServer;
const received: { authorization: string | undefined; body: unknown }[] = [];

beforeAll(async () => {
  server = await startServer(({ headers, body }, response) => {
    received.push({ authorization: headers.authorization, body: JSON.parse(body) as unknown });
    response.writeHead(answer.status).end(answer.body);
  });
});

beforeEach(() => {
  received.length = 0;
  answer = { status: 200, body: '{"status":"ok"}' };
});

const CONTACT = ["--sender-id", "42", "--sender-name", "Ana", "--conversation-id", "7"];
const COMMON = {
  message_type: "incoming",
  sender: { id: "42", name: "Ana", email: "", phone_number: "", type: "contact" },
  conversation_id: 7,
};

async function send(parameters: readonly string[], options: CliOptions = {}): Promise<Said> {
  const environment = {
    APICHAT_BOT_URL: `${server.url}/api/apichat/f0123`,
    APICHAT_FLOW_API_KEY: FLOW_API_KEY,
  };
  const said = await runCli(["send", ...parameters], { environment, ...options });
  expect(said.stdout + said.stderr).not.toContain(FLOW_API_KEY);
  return said;
}

describe("apichat send", () => {
  test.each<[string, string[], object]>([
    ["text", ["Olá"], { event: "message_created", content: "Olá" }],
    [
      "button",
      ["Yes", "--payload", "yes-1"],
      {
        event: "message_postback",
        content: "Yes",
        submitted_values: [{ title: "Yes", payload: "yes-1" }],
      },
    ],
    ...["image", "audio", "video", "file"].map((kind): [string, string[], object] => [
      kind,
      ["https://files.example/1"],
      {
        event: "message_created",
        content: "",
        attachments: [{ file_type: kind, data_url: "https://files.example/1" }],
      },
    ]),
  ])(
    "%s posts one message with the flow's API key, and prints the answer",
    async (kind, parameters, body) => {
      const said = await send([kind, ...parameters, ...CONTACT]);
      expect(said).toMatchObject({ exitCode: 0, stdout: 'sent  HTTP 200  {"status":"ok"}\n', stderr: "" });
      expect(received).toEqual([{ authorization: `Bearer ${FLOW_API_KEY}`, body: { ...COMMON, ...body } }]);
    },
  );

  test("--flow-api-key-as presents the key in another way", async () => {
    const message = { ...COMMON, event: "message_created", content: "Hello" };
    const ways = ["raw", "body", "header:X-Api-Key"].map((way) => ["--flow-api-key-as", way]);
    for (const way of ways) expect((await send(["text", "Hello", ...CONTACT, ...way])).exitCode).toBe(0);
    expect(received).toEqual([
      { authorization: FLOW_API_KEY, body: message },
      { authorization: undefined, body: { ...message, ChaveApi: FLOW_API_KEY } },
      { authorization: undefined, body: message },
    ]);
    for (const way of ["cookie", "header:", "header:Host"]) {
      const said = await send(["text", "Hello", ...CONTACT, "--flow-api-key-as", way]);
      expect(said.exitCode).toBe(2);
      expect(said.stderr).toContain("--flow-api-key-as");
    }
    expect(received).toHaveLength(3);
  });

  test("text - is that of stdin, less the line break at its end", async () => {
    const said = await send(["text", "-", ...CONTACT, "--json"], {
      environment: { APICHAT_BOT_URL: `${server.url}/api/apichat/f0123`, APICHAT_FLOW_API_KEY: FLOW_API_KEY },
      stdin: "two\nlines\n",
    });
    expect(JSON.parse(said.stdout)).toEqual({ httpStatus: 200, body: { status: "ok" }, attempts: 1 });
    expect(received).toMatchObject([{ body: { content: "two\nlines" } }]);
  });

  test("ends with 1 where the service refuses, with the reason as JSON", async () => {
    answer = { status: 401, body: `{"message":"no such key ${FLOW_API_KEY}"}` };
    const said = await send(["text", "Hello", ...CONTACT, "--json"]);
    expect({ exitCode: said.exitCode, stdout: said.stdout }).toEqual({ exitCode: 1, stdout: "" });
    expect(errorOf(said).code).toBe("unauthorized");
    expect(received).toHaveLength(1);
  });

  test("sends nothing if something is missing or wrong", async () => {
    expect((await send(["text", "Hello", "--sender-id", "42"])).exitCode).toBe(2);
    expect((await send(["text", ...CONTACT])).exitCode).toBe(2);
    expect((await send(["text", "", ...CONTACT])).exitCode).toBe(2);
    expect((await send(["image", "not-a-url", ...CONTACT])).exitCode).toBe(2);
    const beyond = [...CONTACT.slice(0, -1), "9007199254740992"];
    expect((await send(["text", "Hello", ...beyond])).exitCode).toBe(2);
    expect((await send(["text", "Hello", ...CONTACT], { environment: {} })).stderr).toMatch(
      /APICHAT_BOT_URL/,
    );
    expect(received).toEqual([]);
  });

  test("takes everything from a file of credentials", async () => {
    const writeFile = await makeFolder();
    const file = await writeFile(
      "acme.yaml",
      `botUrl: ${server.url}/api/apichat/f0123\nflowApiKey: ${FLOW_API_KEY}\n`,
    );
    const said = await send(["text", "Hello", ...CONTACT, "--credentials", file], { environment: {} });
    expect(said).toMatchObject({ exitCode: 0, stderr: "" });
    expect(received).toHaveLength(1);
  });
});
