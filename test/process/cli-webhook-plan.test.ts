import { execa } from "execa";
import { beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { Emulator } from "../../dist/provider/emulator/index.js";
import { API_KEY, makeWriter, QUERY_SECRET, runCli, startService } from "./cli-harness.ts";
import { PROGRAM } from "./program.ts";

const OURS = `https://chat.example/hook?token=${QUERY_SECRET}`;
const OTHER_API_KEY = "other-api-key-0123456789";

let emulator: Emulator;
let writeFile: Awaited<ReturnType<typeof makeWriter>>;
beforeAll(async () => {
  writeFile = await makeWriter();
});
beforeEach(async () => {
  emulator = await startService();
});

const register = (name: string, url: string): void =>
  emulator.workspace(name).takeOver({ webhook_url: url, webhook_verification_key: "key-0123456789abcdef" });

const entry = (name: string, workspace = name, fields: object = {}): object => ({
  name,
  baseUrl: emulator.workspace(workspace).baseUrl,
  ...fields,
});

async function plan(workspaces: readonly object[], ...parameters: string[]) {
  const list = { webhookUrl: OURS, workspaces };
  const file = await writeFile("workspaces.yaml", JSON.stringify(list));
  const environment = { APICHAT_API_KEY: API_KEY, OTHER_API_KEY };
  return runCli(["webhook", "plan", "--file", file, ...parameters], { environment });
}

describe("apichat webhook plan", () => {
  test("ends with 0 if all are free or yours, and queries each workspace once", async () => {
    register("globex", OURS);
    expect(await plan([entry("acme"), entry("globex")])).toMatchObject({
      exitCode: 0,
      stdout: "WORKSPACE  STATE  DETAIL\nacme       free\nglobex     yours  verified\n",
      stderr: "",
    });
    expect(emulator.requests.map(({ action }) => action)).toEqual(["get-webhook", "get-webhook"]);
  });

  test("names the reason of workspaces that fail alike once, below the table", async () => {
    const fields = { apiKeyEnv: "OTHER_API_KEY" };
    const { stdout } = await plan([entry("acme", "acme", fields), entry("globex", "globex", fields)]);
    const [head, ...lines] = stdout.trimEnd().split("\n");
    expect(head).toBe("WORKSPACE  STATE         DETAIL");
    expect(lines).toEqual([
      "acme       unauthorized  HTTP 401",
      "globex     unauthorized  HTTP 401",
      "",
      expect.stringMatching(/^acme: get-webhook at .*: HTTP 401.* The API key is issued by/),
    ]);
  });

  test("writes a long result completely to a slow reader", async () => {
    const names = Array.from({ length: 600 }, (_, index) => `${index}`.padEnd(64, "x"));
    const workspaces = names.map((name) => ({ name, baseUrl: `${emulator.url}/${name}/apichat` }));
    const file = await writeFile("long.yaml", JSON.stringify({ webhookUrl: OURS, workspaces }));
    const script = '"$@" | { head -c 1; sleep 0.5; cat; }';
    const words = [process.execPath, PROGRAM, "webhook", "plan", "--file", file, "--json"];
    const env = { APICHAT_API_KEY: API_KEY };
    const { stdout } = await execa("bash", ["-c", script, "bash", ...words], { env });
    expect(stdout.length).toBeGreaterThan(100_000);
    expect(JSON.parse(stdout)).toMatchObject({ ok: true });
  });

  test("ends with 1 if a webhook is somebody else's, or the API key of an entry is rejected", async () => {
    register("globex", "https://foreign.example/hook");
    const said = await plan(
      [entry("globex"), entry("acme", "acme", { apiKeyEnv: "OTHER_API_KEY" })],
      "--json",
    );
    const workspaces = [{ state: "foreign" }, { state: "unauthorized" }];
    expect(said).toMatchObject({ exitCode: 1, json: { ok: false, workspaces } });
  });
});
