import { beforeAll, describe, expect, test } from "vitest";
import type { Emulator } from "../../dist/provider/emulator/index.js";
import { startServer } from "../support/http.ts";
import { API_KEY, errorOf, makeFolder, runCli } from "./cli-harness.ts";
import { startService } from "./cli-service.ts";
import { startProgram, type Said } from "./program.ts";

const WRONG = "wrong-api-key-0123456789";

let emulator: Emulator;
let writeFile: Awaited<ReturnType<typeof makeFolder>>;
beforeAll(async () => {
  emulator = await startService();
  writeFile = await makeFolder();
});

const get = (parameters: readonly string[], environment: Record<string, string> = {}): Promise<Said> =>
  runCli(["webhook", "get", "--json", ...parameters], { environment });

const baseUrl = (): string[] => ["--base-url", emulator.workspace("acme").baseUrl];

describe("a credential", () => {
  test("comes from its flag, its file, the environment, the file of credentials: the first that has it", async () => {
    const good = await writeFile("good.key", `${API_KEY}\n`);
    const wrong = await writeFile("wrong.key", WRONG);
    const goodFile = await writeFile("good.json", JSON.stringify({ apiKey: API_KEY }));
    const wrongFile = await writeFile("wrong.yaml", `apiKey: ${WRONG}\n`);
    const environment = { APICHAT_API_KEY: WRONG };
    const exitCodes = await Promise.all(
      [
        get([...baseUrl(), "--api-key", API_KEY, "--credentials", wrongFile], environment),
        get([...baseUrl(), "--api-key-file", good, "--credentials", wrongFile], environment),
        get([...baseUrl(), "--credentials", wrongFile], { APICHAT_API_KEY: API_KEY }),
        get([...baseUrl(), "--credentials", goodFile]),
        get(baseUrl(), { APICHAT_CREDENTIALS: goodFile }),
        get([...baseUrl(), "--api-key-file", wrong, "--credentials", goodFile], { APICHAT_API_KEY: API_KEY }),
        get([...baseUrl(), "--credentials", goodFile], environment),
      ].map(async (said) => (await said).exitCode),
    );
    expect(exitCodes).toEqual([0, 0, 0, 0, 0, 1, 1]);
  });

  test("on the command line is warned of, and is not shown", async () => {
    const { stderr } = await get([...baseUrl(), "--api-key", API_KEY]);
    expect(stderr).toBe(
      "warning: --api-key is visible in the process list and in the shell's history; use --api-key-file or APICHAT_API_KEY\n",
    );
  });

  test("in a file that others can read is warned of", async () => {
    const open = await writeFile("open.yaml", JSON.stringify({ apiKey: API_KEY }), 0o644);
    const said = await get([...baseUrl(), "--credentials", open]);
    expect(said.exitCode).toBe(0);
    expect(said.stderr).toBe(
      `warning: ${open} holds credentials and is open to others (mode 0644); run: chmod 600 ${open}\n`,
    );
    const closed = await writeFile("closed.yaml", JSON.stringify({ apiKey: API_KEY }));
    expect((await get([...baseUrl(), "--credentials", closed])).stderr).toBe("");
  });

  test.each<[string, string[], RegExp]>([
    ["missing", [], /^the API key is missing; set APICHAT_API_KEY, or .*--api-key-file/],
    ["twice", ["--api-key", API_KEY, "--api-key-file", "x"], /^give the API key once/],
    ["empty", ["--api-key", ""], /^--api-key: must be non-empty/],
    ["with a blank", ["--api-key", `${API_KEY} `], /without white space around it/],
    ["in no file", ["--api-key-file", "/nowhere/key"], /^--api-key-file: ENOENT/],
    ["misspelt", [`--api-kye=${API_KEY}`], /^unknown option '--api-kye=…'/],
  ])("that is %s is wrong use, and nothing of it is shown", async (_, parameters, message) => {
    const said = await get([...baseUrl(), ...parameters]);
    expect({ exitCode: said.exitCode, stdout: said.stdout }).toEqual({ exitCode: 2, stdout: "" });
    expect(errorOf(said)).toEqual({ code: "wrong_use", message: expect.stringMatching(message) as string });
  });

  test("of the wrong shape names line and field of its file, not the value", async () => {
    const file = await writeFile("bad.yaml", `apiKey: [ ${JSON.stringify(API_KEY)} ]\n`);
    const said = await get([...baseUrl(), "--credentials", file]);
    expect(said.exitCode).toBe(2);
    expect(errorOf(said)).toEqual({
      code: "invalid_config",
      message: `${file}:1:9: apiKey: must be a text, got a list; put it in quotes`,
    });
  });
});

describe("a service that is slow", () => {
  test("is told of on stderr after two seconds, and Ctrl-C ends the command at once with 130", async () => {
    const slow = `${(await startServer(() => undefined)).url}/`;
    const environment = { APICHAT_API_KEY: API_KEY };
    for (const [json, end] of [
      [[], "interrupted\n"],
      [["--json"], '{"error":{"code":"interrupted","message":"ended by Ctrl-C"}}\n'],
    ] as const) {
      const { child, ended } = startProgram(["webhook", "get", "--base-url", slow, ...json], { environment });
      await new Promise((resolve) => child.stderr?.once("data", resolve));
      child.kill("SIGINT");
      expect(await ended).toEqual({
        exitCode: 130,
        signal: null,
        stdout: "",
        stderr: `waiting for get-webhook at ${slow}, attempt 1\n${end}`,
      });
    }
  });
});
