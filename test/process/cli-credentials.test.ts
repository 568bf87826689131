import { beforeAll, describe, expect, test } from "vitest";
import { startServer } from "../support/http.ts";
import { API_KEY, makeWriter, runCli, startService, wrongUse } from "./cli-harness.ts";
import { startProgram } from "./program.ts";

const WRONG = "wrong-api-key-0123456789";

let baseUrl: string[];
let writeFile: Awaited<ReturnType<typeof makeWriter>>;
beforeAll(async () => {
  const emulator = await startService();
  baseUrl = ["--base-url", emulator.workspace("acme").baseUrl];
  writeFile = await makeWriter();
});

const get = (parameters: readonly string[], environment: Record<string, string> = {}) =>
  runCli(["webhook", "get", "--json", ...baseUrl, ...parameters], { environment });

describe("a credential", () => {
  test("comes from its file, the environment, the file of credentials: the first that has it", async () => {
    const good = await writeFile("good.key", `${API_KEY}\r\n`);
    const goodFile = await writeFile("good.json", JSON.stringify({ apiKey: API_KEY }));
    const wrongFile = await writeFile("wrong.yaml", `apiKey: ${WRONG}\n`);
    const runs = await Promise.all([
      get(["--api-key-file", good, "--credentials", wrongFile], { APICHAT_API_KEY: WRONG }),
      get(["--credentials", wrongFile], { APICHAT_API_KEY: API_KEY }),
      get([], { APICHAT_CREDENTIALS: goodFile }),
      get(["--credentials", goodFile], { APICHAT_CREDENTIALS: wrongFile }),
    ]);
    expect(runs.map(({ exitCode, stderr }) => [exitCode, stderr])).toEqual(runs.map(() => [0, ""]));
  });

  test("in a file that others can read is warned of", async () => {
    const open = await writeFile("open.yaml", JSON.stringify({ apiKey: API_KEY }), 0o644);
    expect(await get(["--credentials", open])).toMatchObject({
      exitCode: 0,
      stderr: `warning: ${open} holds credentials and is open to other users of this machine: chmod 600 ${open}\n`,
    });
  });

  test.each<[string, string[], Record<string, string>, RegExp]>([
    ["missing", [], {}, /^the API key is missing; set APICHAT_API_KEY, or .*--api-key-file/],
    ["with a blank", [], { APICHAT_API_KEY: `${API_KEY} ` }, /^APICHAT_API_KEY: .*white space around it/],
    ["in no file", ["--api-key-file", "/nowhere/key"], {}, /^--api-key-file: ENOENT/],
    ["misspelt", [`--api-kye=${API_KEY}`], {}, /^unknown option '--api-kye=…'/],
  ])("that is %s is wrong use, and nothing of it is shown", async (_, parameters, environment, message) => {
    expect(await get(parameters, environment)).toMatchObject(wrongUse(message));
  });

  test.each([
    [["webhook", "get"], "--api-key", "APICHAT_API_KEY"],
    [["send", "text", "Hello"], "--flow-api-key", "APICHAT_FLOW_API_KEY"],
    [["sign"], "--key", "APICHAT_VERIFICATION_KEY"],
  ])("is no argument of %j: %s is refused, and names what to use", async (command, flag, variable) => {
    const message = new RegExp(`^${flag} is no option, .* set ${variable}, or .* ${flag}-file <file>$`);
    expect(await runCli([...command, flag, API_KEY, "--json"])).toMatchObject(wrongUse(message));
  });

  test("of the wrong shape names line and field of its file, not the value", async () => {
    const file = await writeFile("bad.yaml", `apiKey: [ ${JSON.stringify(API_KEY)} ]\n`);
    const message = /bad\.yaml:1:9: apiKey: must be a text, got a list; put it in quotes$/;
    expect(await get(["--credentials", file])).toMatchObject(wrongUse(message, "invalid_config"));
  });
});

test.each([
  [[], "interrupted\n"],
  [["--json"], '{"error":{"code":"interrupted","message":"ended by Ctrl-C"}}\n'],
])(
  "a service that is slow is reported after two seconds, and Ctrl-C ends the command with 130: %j",
  async (json, end) => {
    const slow = `${(await startServer(() => undefined)).url}/`;
    const { child, ended } = startProgram(["webhook", "get", "--base-url", slow, ...json], {
      environment: { APICHAT_API_KEY: API_KEY },
    });
    await new Promise((resolve) => child.stderr?.once("data", resolve));
    child.kill("SIGINT");
    const stderr = `waiting for get-webhook at ${slow}, attempt 1\n${end}`;
    expect(await ended).toEqual({ exitCode: 130, signal: null, stdout: "", stderr });
  },
);
