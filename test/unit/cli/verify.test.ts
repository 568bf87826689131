import { fileURLToPath } from "node:url";
import { execa } from "execa";
import { beforeAll, describe, expect, test, vi } from "vitest";
import { startDeafListener, startServer } from "../../support/http.js";
import { findSecrets } from "../../support/secrets.js";
import { VERIFICATION_KEY } from "../client/harness.js";
import { answerHandshake, parametersOf } from "../diagnosis/harness.js";

/** Each test starts processes, on a machine that may be busy. */
vi.setConfig({ testTimeout: 30_000 });

const here = (name: string): string => fileURLToPath(new URL(name, import.meta.url));
const program = here("../../../provider/cli/main.ts");

/** The command as a real process, without a terminal. */
const start = (args: readonly string[], env: NodeJS.ProcessEnv = {}) =>
  execa(process.execPath, ["--import", here("run-sources.mjs"), program, "verify", ...args], {
    reject: false,
    extendEnv: false,
    env: { PATH: process.env["PATH"], APICHAT_VERIFICATION_KEY: VERIFICATION_KEY, ...env },
    stdin: "ignore",
  });

async function verify(args: readonly string[], env?: NodeJS.ProcessEnv) {
  const { exitCode, stdout, stderr } = await start(args, env);
  return { exitCode, stdout, stderr };
}

/** An endpoint that answers with the challenge, written so. */
const startAnswering = async (write: (challenge: string) => string, status = 200): Promise<string> => {
  const { url: origin } = await startServer((request, response) => {
    response.writeHead(status).end(write(parametersOf(request)["hub_challenge"] ?? ""));
  });
  return origin;
};

let good: string;
let bad: string;
beforeAll(async () => {
  good = `${(await startServer(answerHandshake())).url}/hook`;
  bad = `${await startAnswering(JSON.stringify)}/hook?token=query-value`;
});

describe("apichat verify", () => {
  test("ends with 0 and the verdict, what was seen and the warnings", async () => {
    const { exitCode, stdout, stderr } = await verify([good]);
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
    expect(stdout.split("\n")).toEqual([
      `passed   ${good} answers the handshake`,
      "  address     127.0.0.1",
      expect.stringMatching(/^ {2}form, json {2}\d+, \d+ ms {2}HTTP 200, passed$/),
      expect.stringMatching(/^warning {2}127\.0\.0\.1 is a loopback or private address/),
    ]);
  });

  test("shows rows that say the same once, and keeps the others apart", async () => {
    const { url: origin } = await startServer((request, response) => {
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

  test("ends with 1 and one line on the hint, and prints no secret", async () => {
    const { exitCode, stdout, stderr } = await verify([bad]);
    expect({ exitCode, stderr }).toEqual({ exitCode: 1, stderr: "" });
    expect(stdout).toMatch(/^failed {3}http:\S+\/hook\?token=\*\*\*: form: HTTP 200/);
    expect(stdout).toContain("(the challenge stands in quotes)");
    expect(stdout.match(/^hint .*/gm)).toEqual([expect.stringContaining("without a JSON encoder")]);
    expect(stdout).toContain("[redacted]");
    expect(findSecrets(stdout, [VERIFICATION_KEY, "query-value"])).toEqual([]);
  });

  test("prints the whole diagnosis as JSON, and nothing else", async () => {
    const { exitCode, stdout, stderr } = await verify([bad, "--json"]);
    expect({ exitCode, stderr }).toEqual({ exitCode: 1, stderr: "" });
    expect(JSON.parse(stdout)).toMatchObject({
      passed: false,
      cause: "challenge_in_quotes",
      hint: expect.any(String),
      warnings: [{ code: "private_address" }],
      transcript: { addresses: ["127.0.0.1"], steps: [{ encoding: "form" }, { encoding: "json" }, {}, {}] },
    });
    expect(findSecrets(stdout, [VERIFICATION_KEY, "query-value"])).toEqual([]);
    expect(JSON.parse((await verify([good, "--json"])).stdout)).toMatchObject({ passed: true });
  });

  test("passes with a warning where the status is 201 and where the token is not checked", async () => {
    const { exitCode, stdout } = await verify([await startAnswering((challenge) => challenge, 201)]);
    expect(exitCode).toBe(0);
    expect(stdout).toMatch(/^warning {2}the endpoint answers with the challenge, but with HTTP 201;/m);
    expect(stdout).toContain("anyone could register it");
  });

  test("finds a demand for a signature of the handshake", async () => {
    const { url: origin } = await startServer((request, response, index) => {
      if (request.headers["x-hub-signature-256"] === undefined) response.writeHead(401).end();
      else answerHandshake()(request, response, index);
    });
    expect((await verify([origin])).stdout).toContain("demands a signature of the handshake");
  });

  test("has colours if they are forced, and none without a terminal or with NO_COLOR", async () => {
    const runs = [{}, { FORCE_COLOR: "1" }, { NO_COLOR: "1" }].map((env) => verify([good], env));
    const areColoured = (await Promise.all(runs)).map(({ stdout }) => stdout.includes("\u001b["));
    expect(areColoured).toEqual([false, true, false]);
  });
});

test.each<[string, string[], RegExp]>([
  ["no absolute URL", ["localhost:3000"], /^url: must be an absolute http or https URL/],
  ["a URL with a password", ["http://me:secret-word@127.0.0.1/"], /user name and password/],
  ["two URLs", ["http://a.example", "http://b.example"], /too many arguments/],
  ["no time", ["http://a.example", "--timeout", "0"], /number of seconds/],
  ["no number", ["http://a.example", "--timeout", "soon"], /number of seconds/],
])("%s is wrong use: 2, and nothing on stdout with --json either", async (_, args, message) => {
  const { exitCode, stdout, stderr } = await verify([...args, "--json"]);
  expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: "" });
  const error = { code: "wrong_use", message: expect.stringMatching(message) };
  expect(JSON.parse(stderr)).toEqual({ error });
  expect(stderr).not.toContain("secret-word");
});

describe("an endpoint that is slow", () => {
  test("is reported to be waited for, after two seconds", async () => {
    const { url: origin } = await startServer(() => undefined);
    const url = `${origin}/?token=query-value`;
    const { exitCode, stdout, stderr } = await verify([url, "--timeout", "1.5", "--json"]);
    const waiting = `waiting for ${origin}/?token=*** to answer the handshake`;
    expect({ exitCode, stderr }).toEqual({ exitCode: 1, stderr: waiting });
    expect(JSON.parse(stdout)).toMatchObject({ cause: "silent" });
  });

  test.each([
    ["silent", async () => (await startServer(() => undefined)).url],
    ["out of reach", startDeafListener],
  ])("and %s is left at Ctrl-C, with 130", async (_, startEndpoint) => {
    const child = start([await startEndpoint(), "--timeout", "3600"]);
    // The line after two seconds shows that the handshake is in progress.
    await new Promise((resolve) => child.stderr.once("data", resolve));
    child.kill("SIGINT");
    const stderr = expect.stringMatching(/interrupted$/);
    expect(await child).toMatchObject({ exitCode: 130, stdout: "", stderr });
  });
});
