import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { execa, type Options } from "execa";
import { beforeAll, describe, expect, test, vi } from "vitest";
import type { HandshakeDiagnosis } from "../../../provider/diagnosis/index.js";
import { findSecrets } from "../../support/secrets.js";
import { afterTests, startDeafListener, startServer, VERIFICATION_KEY } from "../client/harness.js";
import { answerHandshake, parametersOf } from "../webhook/harness.js";

/** Each test starts processes, on a machine that may be busy. */
vi.setConfig({ testTimeout: 30_000 });

const here = (name: string): string => fileURLToPath(new URL(name, import.meta.url));
const program = here("../../../provider/cli/main.ts");

const environment = { PATH: process.env["PATH"], APICHAT_VERIFICATION_KEY: VERIFICATION_KEY };

/** The command as a real process, without a terminal. */
const start = (args: readonly string[], options: Options = {}) =>
  execa(process.execPath, ["--import", here("run-sources.mjs"), program, "verify", ...args], {
    reject: false,
    extendEnv: false,
    env: environment,
    stdin: "ignore",
    ...options,
  });

async function verify(args: readonly string[], env: Record<string, string | undefined> = environment) {
  const { exitCode, stdout, stderr } = await start(args, { env });
  return { exitCode, stdout: String(stdout), stderr: String(stderr) };
}

let good: string;
let bad: string;
let folder: string;

beforeAll(async () => {
  good = `${(await startServer(answerHandshake())).origin}/hook`;
  bad = `${
    (
      await startServer((request, response) => {
        response.end(JSON.stringify(parametersOf(request)["hub_challenge"] ?? ""));
      })
    ).origin
  }/hook?token=query-value`;
  folder = await mkdtemp(join(tmpdir(), "apichat-verify-"));
  afterTests(() => rm(folder, { recursive: true }));
});

async function writeKeyFile(text: string): Promise<string> {
  const file = join(folder, "key");
  await writeFile(file, text);
  return file;
}

describe("apichat verify", () => {
  test("ends with 0 and the verdict, what was seen and the warnings", async () => {
    const { exitCode, stdout, stderr } = await verify([good]);
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
    const lines = stdout.split("\n");
    expect(lines[0]).toBe(`passed   ${good} answers the handshake`);
    expect(lines[1]).toBe("  address     127.0.0.1");
    expect(lines[2]).toMatch(/^ {2}form, json {2}\d+, \d+ ms {2}HTTP 200, passed$/);
    expect(lines[3]).toMatch(/^warning {2}127\.0\.0\.1 is a loopback or private address/);
    expect(lines).toHaveLength(4);
  });

  test("shows rows that say the same once, and keeps the others apart", async () => {
    const { origin } = await startServer((request, response) => {
      const isJson = request.headers["content-type"] === "application/json";
      response.writeHead(isJson ? 415 : 404).end();
    });
    const [, address, ...rows] = (await verify([origin])).stdout.split("\n");
    expect(address).toBe("  address                 127.0.0.1");
    expect(rows.slice(0, 2)).toEqual([
      expect.stringMatching(/^ {2}form, multipart, query {2}\d+, \d+, \d+ ms {2}HTTP 404$/),
      expect.stringMatching(/^ {2}json {20} *\d+ ms {2}HTTP 415$/),
    ]);
  });

  test("ends with 0 and a warning for the right challenge with 201", async () => {
    const { origin } = await startServer((request, response) => {
      response.writeHead(201).end(parametersOf(request)["hub_challenge"]);
    });
    const { exitCode, stdout } = await verify([origin]);
    expect(exitCode).toBe(0);
    expect(stdout).toMatch(/^warning {2}the endpoint answers with the challenge, but with HTTP 201;/m);
  });

  test("ends with 1 and one line on the hint", async () => {
    const { exitCode, stdout, stderr } = await verify([bad]);
    expect({ exitCode, stderr }).toEqual({ exitCode: 1, stderr: "" });
    expect(stdout).toMatch(/^failed {3}http:\S+\/hook\?token=\*\*\*: form: HTTP 200/);
    expect(stdout).toContain("(the challenge stands in quotes)");
    expect(stdout.match(/^hint .*/gm)).toEqual([expect.stringContaining("without a JSON encoder")]);
  });

  test("prints the whole diagnosis as JSON, and nothing else", async () => {
    const { exitCode, stdout, stderr } = await verify([bad, "--json"]);
    expect({ exitCode, stderr }).toEqual({ exitCode: 1, stderr: "" });
    expect(JSON.parse(stdout) as HandshakeDiagnosis).toMatchObject({
      passed: false,
      cause: "challenge_in_quotes",
      hint: expect.any(String) as string,
      warnings: [{ code: "private_address" }],
      transcript: { addresses: ["127.0.0.1"], steps: [{ encoding: "form" }, { encoding: "json" }, {}, {}] },
    });
    expect(JSON.parse((await verify([good, "--json"])).stdout)).toMatchObject({ passed: true });
  });

  test("warns of a token that is not checked", async () => {
    const { origin } = await startServer((request, response) => {
      response.end(parametersOf(request)["hub_challenge"]);
    });
    const { exitCode, stdout } = await verify([origin]);
    expect(exitCode).toBe(0);
    expect(stdout).toContain("anyone could register it");
  });

  test("tells a demand for a signature that is made without a word", async () => {
    const { origin } = await startServer((request, response, index) => {
      if (request.headers["x-hub-signature-256"] === undefined) response.writeHead(401).end();
      else answerHandshake()(request, response, index);
    });
    expect((await verify([origin])).stdout).toContain("demands a signature of the handshake");
  });

  test("prints no secret", async () => {
    for (const args of [[bad], [bad, "--json"]]) {
      const { stdout } = await verify(args);
      expect(stdout).toContain("[redacted]");
      expect(findSecrets(stdout, [VERIFICATION_KEY, "query-value"])).toEqual([]);
    }
  });
});

describe("the key", () => {
  const without = { PATH: process.env["PATH"] };

  test.each(["", "\n", "\r\n"])("comes from a file, which may end with a line break: %j", async (end) => {
    const { exitCode } = await verify(
      [good, "--key-file", await writeKeyFile(VERIFICATION_KEY + end)],
      without,
    );
    expect(exitCode).toBe(0);
  });

  test("of the file counts more than that of the environment", async () => {
    const { exitCode } = await verify([good, "--key-file", await writeKeyFile("another-key-0123456789")]);
    expect(exitCode).toBe(1);
  });
});

test("the key may stand on the command line, with a warning", async () => {
  const { exitCode, stderr } = await verify([good, "--key", VERIFICATION_KEY], {
    PATH: process.env["PATH"],
  });
  expect(exitCode).toBe(0);
  expect(stderr).toMatch(/^warning: --key is visible in the process list/);
  expect(findSecrets(stderr, [VERIFICATION_KEY])).toEqual([]);
});

describe("wrong use ends with 2 and one line:", () => {
  test.each<[string, () => string[], string, Record<string, string | undefined>?]>([
    ["no URL", () => [], "missing required argument 'url'"],
    ["no absolute URL", () => ["localhost:3000"], "url: must be an absolute http or https URL"],
    ["a URL with a password", () => ["http://me:secret-word@127.0.0.1/"], "user name and password"],
    ["two URLs", () => [good, good], "too many arguments"],
    ["an unknown option", () => [good, "--kye=secret-word"], "unknown option '--kye=…'"],
    [
      "the key twice",
      () => [good, "--key", "secret-word", "--key-file", "key"],
      "either --key-file or --key",
    ],
    ["no time", () => [good, "--timeout", "0"], "number of seconds"],
    ["no number", () => [good, "--timeout", "soon"], "number of seconds"],
    ["no key file", () => [good, "--key-file", "/nowhere/key"], "--key-file: ENOENT"],
    [
      "no key, and no terminal to ask",
      () => [good],
      "APICHAT_VERIFICATION_KEY",
      { APICHAT_VERIFICATION_KEY: "" },
    ],
    [
      "a key with a blank",
      () => [good],
      "white space around it",
      { APICHAT_VERIFICATION_KEY: " secret-word" },
    ],
  ])("%s", async (_, args, text, env = environment) => {
    const { exitCode, stdout, stderr } = await verify(args(), env);
    expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: "" });
    expect(stderr).toMatch(/^error: /);
    expect(stderr).toContain(text);
    expect(stderr.split("\n")).toHaveLength(1);
    expect(stderr).not.toContain("secret-word");
  });
});

test("wrong use prints nothing on stdout with --json either", async () => {
  const { exitCode, stdout, stderr } = await verify(["localhost:3000", "--json"]);
  expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: "" });
  expect(JSON.parse(stderr)).toEqual({
    error: { code: "wrong_use", message: expect.stringMatching(/^url: must be/) as string },
  });
});

test("--help ends with 0 and names the key, the rows, slowness and the exit codes", async () => {
  const { exitCode, stdout } = await verify(["--help"]);
  expect(exitCode).toBe(0);
  expect(stdout).toContain("APICHAT_VERIFICATION_KEY");
  expect(stdout).toContain("form, json, multipart and query");
  expect(stdout).toContain("the query only if all others fail");
  expect(stdout).toContain("a key in a URL ends up in access logs");
  expect(stdout).toContain("takes 5 s or longer is a warning");
  expect(stdout).toContain("Exit code: 0 passed, 1 failed, 2 wrong use, 130 ended by Ctrl-C.");
  expect(stdout).toContain("With 2 and 130 nothing is on stdout, with --json either.");
  expect(stdout).toContain(
    'With --json a failure is the last line of stderr: { "error": { "code", "message" } }.',
  );
});

describe("colours", () => {
  const ESCAPE = "\u001b[";

  test("are not there without a terminal", async () => {
    expect((await verify([good])).stdout).not.toContain(ESCAPE);
  });

  test("are there if they are forced, and not with NO_COLOR", async () => {
    expect((await verify([good], { ...environment, FORCE_COLOR: "1" })).stdout).toContain(ESCAPE);
    expect((await verify([good], { ...environment, NO_COLOR: "1" })).stdout).not.toContain(ESCAPE);
  });
});

describe("an endpoint that is slow", () => {
  test("is said to be waited for, after two seconds", async () => {
    const { origin } = await startServer(() => undefined);
    const { exitCode, stdout, stderr } = await verify([
      `${origin}/?token=query-value`,
      "--timeout",
      "1.5",
      "--json",
    ]);
    expect({ exitCode, stderr }).toEqual({
      exitCode: 1,
      stderr: `waiting for ${origin}/?token=*** to answer the handshake`,
    });
    expect(JSON.parse(stdout)).toMatchObject({ cause: "silent" });
  });

  test.each([
    ["silent", async () => (await startServer(() => undefined)).origin],
    ["out of reach", startDeafListener],
  ])("and %s is left at once at Ctrl-C, with 130", async (_, startEndpoint) => {
    const child = start([await startEndpoint()]);
    // The line after two seconds shows that the handshake is under way.
    await new Promise((resolve) => child.stderr?.once("data", resolve));
    const begun = performance.now();
    child.kill("SIGINT");
    const { exitCode, stderr, stdout } = await child;
    expect({ exitCode, stdout }).toEqual({ exitCode: 130, stdout: "" });
    expect(String(stderr)).toMatch(/interrupted$/);
    expect(performance.now() - begun).toBeLessThan(1500);
  });
});
