import { describe, expect, test } from "vitest";
import { startEndpoint } from "../support/endpoint.ts";
import { startServer, type Answer } from "../support/http.ts";
import { runCli, VERIFICATION_KEY, usageError } from "./cli-harness.ts";

const environment = { APICHAT_VERIFICATION_KEY: VERIFICATION_KEY };
const verify = (...parameters: string[]) => runCli(["verify", ...parameters], { environment });

/** Starts an endpoint that accepts any token, and responds with the challenge as `write` changes it. */
const startAnswering = async (write: (challenge: string) => string, status: number): Promise<string> => {
  const answer: Answer = ({ body }, response) =>
    response.writeHead(status).end(write(new URLSearchParams(body).get("hub_challenge") ?? ""));
  return (await startServer(answer)).url;
};

test("apichat verify exits with 0 if the handshake passes, prints warnings, and also tries a wrong token", async () => {
  const url = await startAnswering((challenge) => challenge, 201);
  const { exitCode, stdout, stderr } = await verify(url);
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
  expect(stdout).toMatch(/^passed {3}http:\S+ answers the handshake$/m);
  expect(stdout).toMatch(/^warning {2}the endpoint answers with the challenge, but with HTTP 201;/m);
  expect(stdout).toContain("anyone could register it");
});

test("apichat verify exits with 1 if the handshake fails, and prints the whole diagnosis as JSON", async () => {
  const { exitCode, json, stderr } = await verify(await startAnswering(JSON.stringify, 200), "--json");
  expect({ exitCode, stderr }).toEqual({ exitCode: 1, stderr: "" });
  expect(json).toMatchObject({
    passed: false,
    cause: "challenge_in_quotes",
    hint: expect.any(String),
    warnings: expect.arrayContaining([expect.objectContaining({ code: "private_address" })]),
    transcript: { addresses: ["127.0.0.1"], steps: [{ encoding: "form" }, { encoding: "json" }, {}, {}] },
  });
});

describe("--deliveries", () => {
  test("sends nothing if it has neither a terminal nor --yes", async () => {
    const { url, requests } = await startServer((_, response) => response.end());
    const refused = await verify(url, "--deliveries", "--json");
    expect(refused).toMatchObject(usageError(/asks for confirmation.*--yes/));
    expect(requests).toEqual([]);
  });

  test("for an unsafe endpoint, prints a table and the fixes, and exits with 1", async () => {
    const url = await startAnswering((challenge) => challenge, 200);
    const { exitCode, stdout } = await verify(url, "--deliveries", "--yes");
    expect(exitCode).toBe(1);
    expect(stdout).toMatch(/^unsafe +4 +delivery without a signature +HTTP 200$/m);
    expect(stdout).toMatch(/^\d+ right, \d+ wrong, \d+ unsafe, 2 skipped$/m);
    expect(stdout).toMatch(/^skipped: .*--earlier-key-file$/m);
    expect(stdout).toMatch(
      /^rule 2: compare hub_verify_token .*\n {2}handshake with a wrong token: HTTP 200$/m,
    );
  });

  test("if the handshake fails, prints JSON that contains no checks", async () => {
    const url = await startAnswering((challenge) => challenge, 500);
    const { exitCode, json } = await verify(url, "--deliveries", "--yes", "--json");
    expect(exitCode).toBe(1);
    expect(json).toMatchObject({ passed: false, checks: [], diagnosis: { cause: "server_error" } });
  });

  test("reads an earlier key from the environment, and prints JSON", async () => {
    const both = {
      APICHAT_VERIFICATION_KEY: VERIFICATION_KEY,
      APICHAT_EARLIER_VERIFICATION_KEY: "before-it",
    };
    const endpoint = await startEndpoint();
    endpoint.accept(VERIFICATION_KEY, "before-it");
    const { exitCode, json } = await runCli(["verify", endpoint.url, "--deliveries", "--yes", "--json"], {
      environment: both,
    });
    expect(exitCode).toBe(0);
    expect(json).toMatchObject({ passed: true, diagnosis: { passed: true } });
    const { checks } = json as { checks: { result: string }[] };
    expect(new Set(checks.map(({ result }) => result))).toEqual(new Set(["right"]));
  });
});
