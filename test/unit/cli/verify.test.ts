import { afterEach, expect, test, vi } from "vitest";
import { formatDiagnosis } from "../../../provider/cli/verify.js";
import { diagnoseHandshake } from "../../../provider/diagnosis/index.js";
import { startServer, type Answer } from "../../support/http.js";
import { findSecrets } from "../../support/secrets.js";
import { VERIFICATION_KEY } from "../client/harness.js";
import { answerHandshake, parametersOf } from "../diagnosis/harness.js";

afterEach(() => {
  vi.unstubAllEnvs();
});

/** What is printed of an endpoint that answers so, in its lines. */
async function verify(answer: Answer): Promise<string[]> {
  const url = `${(await startServer(answer)).url}/hook?token=query-value`;
  const text = formatDiagnosis(await diagnoseHandshake({ url, verificationKey: VERIFICATION_KEY }));
  expect(findSecrets(text, [VERIFICATION_KEY, "query-value"])).toEqual([]);
  return text.trimEnd().split("\n");
}

test("a handshake that passed is shown with what was seen and the warnings", async () => {
  expect(await verify(answerHandshake())).toEqual([
    expect.stringMatching(/^passed {3}http:\S+\/hook\?token=\*\*\* answers the handshake$/),
    "  address     127.0.0.1",
    expect.stringMatching(/^ {2}form, json {2}\d+, \d+ ms {2}HTTP 200, passed$/),
    expect.stringMatching(/^warning {2}127\.0\.0\.1 is a loopback or private address/),
  ]);
});

test("one that failed is shown with its reason, its rows, and one line on the hint", async () => {
  vi.stubEnv("FORCE_COLOR", "1");
  const lines = await verify((request, response) => {
    if (request.headers["content-type"] === "application/json") response.writeHead(415).end();
    else response.end(JSON.stringify(parametersOf(request)["hub_challenge"] ?? ""));
  });
  expect(lines[0]).toContain("\u001b[");
  expect(lines[0]).toMatch(/failed.*: form: HTTP 200.*\(the challenge is in quotes\)/);
  // Rows that say the same are one, and the others stay apart.
  expect(lines.slice(2, 4)).toEqual([
    expect.stringMatching(/^ {2}form, multipart, query {2}\d+, \d+, \d+ ms {2}HTTP 200.*\[redacted\]/),
    expect.stringMatching(/^ {2}json {20} *\d+ ms {2}HTTP 415$/),
  ]);
  expect(lines.filter((line) => line.includes("hint"))).toEqual([
    expect.stringContaining("without a JSON encoder"),
  ]);
});
