import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { readSeed, startEmulator } from "../../../provider/emulator/index.js";
import { call, sendTo, text } from "./harness.js";
import { makeFolder } from "../../support/folder.ts";

async function write(content: string): Promise<string> {
  const folder = await makeFolder();
  const path = join(folder, "seed.yaml");
  await writeFile(path, content);
  return path;
}

const WHOLE = `
workspaces:
  - name: acme
    apiKey: key-of-acme
    botCode: bot-of-acme
    mayManageFlow: false
    registration:
      webhook_url: https://chat.example/hook
      webhook_verification_key: a-verification-key
  - name: globex
    apiKeyEnv: SEED_KEY
    flowApiKey: flow-key-of-globex
    path: shared
    baseUrlQuery: tenant=globex
flow: silent
handshake: { encoding: json }
errorShape: text
faults:
  - operation: get-webhook
    workspace: acme
    fault: { status: 503 }
`;

test("an emulator started from a seed file has the file's workspaces, switches and faults", async () => {
  onTestFinished(() => void vi.unstubAllEnvs());
  vi.stubEnv("SEED_KEY", "key-of-globex");
  const emulator = await startEmulator(await readSeed(await write(WHOLE)));
  onTestFinished(() => emulator.close());
  const [acme, globex] = [emulator.workspace("acme"), emulator.workspace("globex")];
  const registration = { webhook_url: "https://chat.example/hook", webhook_status: "verified" };
  const known = { apiKey: "key-of-acme", flow: "silent", botCode: "bot-of-acme", handshakes: [] };
  expect(acme).toMatchObject({ ...known, registration });
  expect(globex).toMatchObject({
    apiKey: "key-of-globex",
    flowApiKey: "flow-key-of-globex",
    baseUrl: `${emulator.url}/shared/apichat?tenant=globex`,
  });
  expect((await call(acme, "get-webhook")).status).toBe(503);
  expect((await sendTo(acme, text)).text).toMatch(/^the flow API key lacks/);
  expect((await sendTo(globex, text)).status).toBe(200);
});

test.each([
  ["an unknown field", "workspaces: []\nport: 80\n", ":2:1: port: is not a known field"],
  ["a workspace without a key", "workspaces:\n  - name: a\n", ":2:5: workspaces[0].apiKey: is missing"],
  [
    "a key given twice",
    "workspaces:\n  - {name: a, apiKey: s3cr3t, apiKeyEnv: PATH}\n",
    ":2:42: workspaces[0].apiKeyEnv: cannot be combined with apiKey",
  ],
  [
    "a variable that is not set",
    "workspaces:\n  - name: a\n    apiKeyEnv: SEED_s3cr3t\n",
    ":3:16: workspaces[0].apiKeyEnv: names an environment variable that is unset",
  ],
  ["invalid YAML", "workspaces: [s3cr3t\n", ":2:1: "],
])("a seed file with %s is rejected; the error has the line and the field, but no values", async (...row) => {
  const [, content, problem] = row;
  const path = await write(content);
  const failure: unknown = await readSeed(path).catch((error: unknown) => error);
  const message: unknown = expect.stringContaining(path + problem);
  expect(failure).toMatchObject({ code: "invalid_config", message });
  expect(String(failure)).not.toContain("s3cr3t");
});
