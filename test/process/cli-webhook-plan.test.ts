import { beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { Emulator } from "../../dist/provider/emulator/index.js";
import { freePort } from "../support/http.ts";
import { API_KEY, errorOf, makeFolder, QUERY_SECRET, runCli } from "./cli-harness.ts";
import { startService } from "./cli-service.ts";
import type { Said } from "./program.ts";

const OURS = `https://chat.example/hook?token=${QUERY_SECRET}`;
const OTHER_API_KEY = "other-api-key-0123456789";

let emulator: Emulator;
let writeFile: Awaited<ReturnType<typeof makeFolder>>;

beforeAll(async () => {
  writeFile = await makeFolder();
});

beforeEach(async () => {
  emulator = await startService();
});

const register = (name: string, url: string): void =>
  emulator.workspace(name).takeOver({ webhook_url: url, webhook_verification_key: "key-0123456789abcdef" });

const entry = (name: string, fields: object = {}): object => ({
  name,
  baseUrl: emulator.workspaces.get(name)?.baseUrl,
  ...fields,
});

async function plan(list: object | string, ...parameters: string[]): Promise<Said> {
  const text = typeof list === "string" ? list : JSON.stringify({ webhookUrl: OURS, ...list });
  const file = await writeFile("workspaces.yaml", text);
  const environment = { APICHAT_API_KEY: API_KEY, OTHER_API_KEY };
  return runCli(["webhook", "plan", "--file", file, ...parameters], { environment });
}

const rowsOf = ({ stdout }: Said): Record<string, string>[] =>
  (JSON.parse(stdout) as { workspaces: Record<string, string>[] }).workspaces;

describe("apichat webhook plan", () => {
  test("ends with 0 where all are free or yours, and asks each workspace once", async () => {
    register("globex", OURS);
    const { exitCode, stdout, stderr } = await plan({ workspaces: [entry("acme"), entry("globex")] });
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
    expect(stdout.split("\n")).toEqual([
      "WORKSPACE  STATE  DETAIL",
      "acme       free",
      "globex     yours  verified",
      "",
    ]);
    expect(emulator.requests.map(({ action }) => action)).toEqual(["get-webhook", "get-webhook"]);
  });

  test("tells each state from the others, and ends with 1", async () => {
    register("globex", `https://foreign.example/hook?token=${QUERY_SECRET}`);
    const botUrl = "https://bots.example/api/apichat/another";
    const said = await plan(
      {
        workspaces: [
          entry("acme"),
          entry("globex"),
          entry("refused", {
            baseUrl: emulator.workspace("acme").baseUrl,
            apiKeyEnv: "OTHER_API_KEY",
          }),
          entry("moved", { baseUrl: emulator.workspace("globex").baseUrl, botUrl }),
          entry("gone", { baseUrl: `http://127.0.0.1:${await freePort()}/x?tenant=${QUERY_SECRET}` }),
        ],
      },
      "--json",
      "--request-seconds",
      "1",
    );
    expect(said.exitCode).toBe(1);
    expect(rowsOf(said)).toMatchObject([
      { name: "acme", state: "free", detail: "" },
      { name: "globex", state: "foreign", detail: "https://foreign.example/hook?token=***" },
      { name: "refused", state: "unauthorized" },
      { name: "moved", state: "other-bot" },
      { name: "gone", state: "unreachable" },
    ]);
    expect(said.stdout).not.toContain(OTHER_API_KEY);
    expect(emulator.requests.every(({ action }) => action === "get-webhook")).toBe(true);
  });

  test("tells two entries of one workspace, registered or not", async () => {
    register("globex", OURS);
    const workspaces = ["acme", "globex"].flatMap((name) => [
      entry(name),
      entry(`${name}-again`, { baseUrl: emulator.workspace(name).baseUrl }),
    ]);
    const said = await plan({ workspaces }, "--json");
    expect(said.exitCode).toBe(1);
    expect(rowsOf(said).map(({ state, detail }) => [state, detail])).toEqual([
      ["same-bot", "reaches the same workspace as acme-again"],
      ["same-bot", "reaches the same workspace as acme"],
      ["same-bot", "reaches the same workspace as globex-again"],
      ["same-bot", "reaches the same workspace as globex"],
    ]);
  });

  test("counts HTTP 404 as free, as the first look of pulumi up does", async () => {
    emulator = await startService({ beforeFirstSet: "not-found" });
    const said = await plan({ workspaces: [entry("acme")] }, "--json");
    expect({ exitCode: said.exitCode, rows: rowsOf(said) }).toMatchObject({
      exitCode: 0,
      rows: [{ state: "free" }],
    });
  });

  test("names line, column and field of what is wrong with the list, and none of its values", async () => {
    const said = await plan(
      [
        `webhookUrl: ${OURS}`,
        "workspaces:",
        "  - name: acme",
        `    baseUrl: platform.example/acme?token=${QUERY_SECRET}`,
        "  - name: acme",
        "    baseUrl: https://platform.example/globex",
        `    apiKey: ' ${API_KEY.replaceAll("'", "")}'`,
        "    apiKeyEnv: NOT_THERE",
      ].join("\n"),
      "--json",
    );
    expect({ exitCode: said.exitCode, stdout: said.stdout }).toEqual({ exitCode: 2, stdout: "" });
    expect(errorOf(said).code).toBe("invalid_config");
    expect(
      errorOf(said)
        .message.split("\n")
        .map((line) => line.replace(/^.*workspaces\.yaml:/, "")),
    ).toEqual([
      expect.stringMatching(/^4:14: workspaces\[0\]\.baseUrl: must be an absolute http or https URL/),
      "5:11: workspaces[1].name: is there more than once",
      expect.stringMatching(/^7:13: workspaces\[1\]\.apiKey: must be without white space/),
      "7:13: workspaces[1].apiKey: stands beside apiKeyEnv; give one of the two",
      expect.stringMatching(/^8:16: workspaces\[1\]\.apiKeyEnv: must be the name of an environment variable/),
    ]);
    expect(emulator.requests).toEqual([]);
  });

  test("reads the list of the example for many workspaces", async () => {
    const said = await runCli([
      "webhook",
      "plan",
      "--file",
      new URL("../../examples/workspaces/workspaces.yaml", import.meta.url).pathname,
    ]);
    // Sound, so what is missing is the key.
    expect(said).toMatchObject({ exitCode: 2, stderr: expect.stringContaining("APICHAT_API_KEY") as string });
  });
});
