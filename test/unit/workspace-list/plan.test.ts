import { expect, test } from "vitest";
import { startEmulator } from "../../../provider/emulator/index.ts";
import { planWebhooks } from "../../../provider/workspace-list/plan.ts";
import { API_KEY } from "../../support/endpoint.ts";
import { afterTests, freePort } from "../../support/http.ts";
import { findSecrets } from "../../support/secrets.ts";

const TOKEN = "query-token-0123456789";
const OTHER_API_KEY = "other-api-key-0123456789";

test("a plan distinguishes the states of workspaces, shows no secrets, and only reads", async () => {
  const workspaces = ["acme", "globex", "initech"].map((name) => ({ name, apiKey: API_KEY }));
  const emulator = await startEmulator({ workspaces });
  afterTests(() => emulator.close());
  const webhookUrl = `https://chat.example/hook?token=${TOKEN}`;
  const register = (name: string, webhook_url: string): void =>
    emulator.workspace(name).takeOver({ webhook_url, webhook_verification_key: "key-0123456789abcdef" });
  register("globex", `https://foreign.example/hook?token=${TOKEN}`);
  register("initech", webhookUrl);
  const entry = (name: string, workspace: string, fields: object = {}) => {
    const { baseUrl } = emulator.workspace(workspace);
    return { name, baseUrl, webhookUrl, apiKey: undefined, ...fields };
  };
  const gone = `http://127.0.0.1:${await freePort()}/x?tenant=${TOKEN}`;
  let answers = 0;
  const rows = await planWebhooks(
    [
      entry("acme", "acme"),
      entry("acme-again", "acme"),
      entry("globex", "globex"),
      entry("initech", "initech"),
      entry("refused", "acme", { apiKey: OTHER_API_KEY }),
      entry("gone", "acme", { baseUrl: gone }),
    ],
    { apiKey: API_KEY, requestSeconds: 3, onAnswer: () => (answers += 1) },
  );
  expect(rows).toMatchObject([
    { name: "acme", state: "same-bot", detail: "reaches the same workspace as acme-again" },
    { name: "acme-again", state: "same-bot", detail: "reaches the same workspace as acme" },
    { name: "globex", state: "foreign", detail: "https://foreign.example/hook?token=***" },
    { name: "initech", state: "yours", detail: "verified" },
    { name: "refused", state: "unauthorized" },
    { name: "gone", state: "unreachable" },
  ]);
  expect(answers).toBe(rows.length);
  expect(findSecrets(JSON.stringify(rows), [API_KEY, OTHER_API_KEY, TOKEN])).toEqual([]);
  expect(new Set(emulator.requests.map(({ operation }) => operation))).toEqual(new Set(["get-webhook"]));
});
