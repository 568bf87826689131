import { dirname } from "node:path";
import { execa } from "execa";
import { beforeAll, describe, expect, test } from "vitest";
import { startServer } from "../support/http.ts";
import {
  API_KEY,
  LIST_PACKAGES,
  makeWriter,
  runCli,
  runCliProcess,
  usageError,
  VERIFICATION_KEY,
} from "./cli-harness.ts";
import { PROGRAM, startProgram } from "./program.ts";

const CONTACT = "--sender-id 42 --sender-name Ana --conversation-id 7";

let writeFile: Awaited<ReturnType<typeof makeWriter>>;
beforeAll(async () => {
  writeFile = await makeWriter();
});

test("--help loads no package except commander", async () => {
  const NODE_OPTIONS = `--import=${await writeFile("list-packages.mjs", LIST_PACKAGES)}`;
  for (const words of [["--help"], ["responder", "deliveries", "--help"]]) {
    const { exitCode, stdout, stderr } = await runCliProcess(words, { environment: { NODE_OPTIONS } });
    expect(exitCode).toBe(0);
    expect(stdout).toMatch(/^Usage: apichat /);
    expect([...new Set(stderr.trim().split("\n"))]).toEqual(["commander"]);
  }
});

test("--help marks required options, and omits options that only HandshakeResponder passes", async () => {
  expect((await runCli(["send", "text", "--help"])).stdout).toMatch(/--sender-id <id>[^-]*\(required\)/);
  expect((await runCli(["responder", "--help"])).stdout).not.toContain("--instance");
});

describe("a usage error exits with 2, and points to the help", () => {
  test.each<[string, string | RegExp, string?]>([
    [`webhook get --api-kye=${API_KEY}`, /unknown option '--api-kye=…'.*; see apichat webhook get --help/],
    [
      `webhook get ${API_KEY}`,
      /^too many arguments for 'get'. Expected 0 arguments but got 1; usage: apichat webhook get \[options\]; see/,
    ],
    ["responder deliveries list", /usage: apichat responder deliveries \[options\] \[resend\]; see/],
    [
      `trigger ${API_KEY}`,
      /^argument 'url' must be an absolute http.*got text that is not shown, because it may be a key/,
    ],
    [
      `responder deliveries resend 1 --to ${API_KEY}`,
      /^option '--to <url>' must be an absolute http.*got text that is not shown, because it may be a key/,
    ],
    ["verify", "missing required argument 'url'; see apichat verify --help"],
    ["verify http://me:secret-word@127.0.0.1/", /^argument 'url' (?!.*secret-word).*user name and password/],
    ["trigger http://127.0.0.1/ sticker", /text, image, audio/],
    ["listen --port 70000", /0 to 65535/],
    ["send text Hello --sender-id 42", /--sender-name/],
    [
      `send text Hello ${CONTACT} --bot-url http://127.0.0.1:9/acme/apichat`,
      /npx --package pulumi-apichat apichat webhook get prints it/,
    ],
    [`send image not-a-url ${CONTACT} --bot-url http://127.0.0.1:9/f0123`, /url/, "invalid_config"],
    ["emulator --fault {", /must be JSON/],
    ["emulator --host 0.0.0.0", /--host: 0\.0\.0\.0 .*--token-file/],
    ["emulator --workspace a/b", /workspaces\[0\]\.name: must start with a letter/, "invalid_config"],
    [`send text x --flow-api-key ${API_KEY}`, /^--flow-api-key is not supported.*APICHAT_FLOW_API_KEY/],
  ])("apichat %s", async (words, message, code) => {
    const environment = {
      APICHAT_VERIFICATION_KEY: VERIFICATION_KEY,
      APICHAT_FLOW_API_KEY: "a-flow-api-key",
    };
    const said = await runCli([...words.split(" "), "--json"], { environment });
    expect(said).toMatchObject(usageError(message, code));
  });
});

test.each([
  ["base URL", {}, /; run: export APICHAT_BASE_URL="\$\(pulumi config get apichat:baseUrl\)"$/],
  [
    "API key",
    { APICHAT_BASE_URL: "http://127.0.0.1:9/" },
    /; run: export APICHAT_API_KEY="\$\(pulumi config get apichat:apiKey\)"$/,
  ],
])(
  "if the %s is missing, the error shows how to read it from the project",
  async (_, environment, message) => {
    const cwd = dirname(await writeFile("Pulumi.yaml", "name: acme\n"));
    const said = await runCliProcess(["webhook", "get", "--json"], { cwd, environment });
    expect(said).toMatchObject(usageError(message));
  },
);

test("a long result is written completely to a slow reader", async () => {
  const data = { webhook_url: "https://chat.example/", webhook_status: "x".repeat(200_000) };
  const { url } = await startServer((_, response) => response.end(JSON.stringify({ status: "ok", data })));
  const words = [process.execPath, PROGRAM, "webhook", "get", "--json", "--base-url", url];
  const script = '"$@" | { head -c 1; sleep 0.5; cat; }';
  const { stdout } = await execa("bash", ["-c", script, "bash", ...words], {
    env: { APICHAT_API_KEY: API_KEY },
  });
  expect(JSON.parse(stdout)).toMatchObject({ status: data.webhook_status });
});

test.each([
  [[], "interrupted\n"],
  [["--json"], '{"error":{"code":"interrupted","message":"stopped by Ctrl-C"}}\n'],
])("with %j, a slow service is reported after 2 s, and Ctrl-C makes the exit code 130", async (json, end) => {
  const slow = `${(await startServer(() => undefined)).url}/`;
  const { child, ended } = startProgram(["webhook", "get", "--base-url", slow, ...json], {
    environment: { APICHAT_API_KEY: API_KEY },
  });
  await new Promise((resolve) => child.stderr?.once("data", resolve));
  child.kill("SIGINT");
  const stderr = `waiting for get-webhook at ${slow}, attempt 1\n${end}`;
  expect(await ended).toEqual({ exitCode: 130, signal: null, stdout: "", stderr });
});

const TOO_OLD = /^(?:pulumi-)?apichat needs Node \d+\.\d+ or newer, but this is 20\.20\.2; install it from /;

/** Runs Node with a hook that makes it report an unsupported version. */
async function runOld(...words: string[]) {
  const pretend = 'Object.defineProperty(process.versions, "node", { value: "20.20.2" });';
  const hook = await writeFile("pretend.mjs", LIST_PACKAGES + pretend);
  return execa(process.execPath, [`--import=${hook}`, ...words], { reject: false });
}

test("if Node is unsupported, apichat reports only that, before it loads anything", async () => {
  const { exitCode, stdout, stderr } = await runOld(PROGRAM, "--version");
  expect([exitCode, stdout, stderr.split("\n").length]).toEqual([1, "", 1]);
  expect(stderr.replace(/^error: /, "")).toMatch(TOO_OLD);
  const { error } = JSON.parse((await runOld(PROGRAM, "doctor", "--json")).stderr) as { error: object };
  expect(error).toEqual({ code: "failed", message: expect.stringMatching(TOO_OLD) });
});
