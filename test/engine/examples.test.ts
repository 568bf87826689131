import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createDelivery } from "pulumi-apichat/responder";
import { beforeAll, describe, expect, test } from "vitest";
import { SEED } from "../support/derived-keys.ts";
import { API_KEY, startEndpoint, VERIFICATION_KEY, type Endpoint } from "../support/endpoint.ts";
import { processesNaming } from "../support/processes.ts";
import { copyExample, type ProgramFolder } from "../support/program-folder.ts";
import { openScene, registeredWorkspaces, type Scene } from "../support/scene.ts";
import { findSecrets } from "../support/secrets.ts";

const names = ["acme", "globex", "initech"];
const keys = Object.fromEntries(names.map((name) => [name, `${VERIFICATION_KEY}/${name}`]));

let scene: Scene;
let endpoint: Endpoint;

beforeAll(async () => {
  scene = await openScene([...names, "single", "rotated"]);
  endpoint = await startEndpoint({ keys: [VERIFICATION_KEY, ...Object.values(keys)] });
});

const workspace = (name: string) => scene.emulator.workspace(name);

/** A copy of an example with a stack and these settings, as its README makes them. */
async function open(example: string, settings: Record<string, string>): Promise<ProgramFolder> {
  const environment = { CI: "false", XDG_STATE_HOME: join(scene.backend.folder, "state") };
  const program = await copyExample(scene.backend, example, environment);
  await program.run("stack", "init", "dev");
  await configure(program, settings);
  return program;
}

const configure = (program: ProgramFolder, settings: Record<string, string>): Promise<string> =>
  program.run(
    "config",
    "set-all",
    "--path",
    ...Object.entries(settings).flatMap(([name, value]) => [
      /key/i.test(name) ? "--secret" : "--plaintext",
      `${name}=${value}`,
    ]),
  );

const up = (program: ProgramFolder) => program.run("up", "--yes", "--skip-preview");
const destroy = (program: ProgramFolder) => program.run("destroy", "--yes", "--skip-preview");

const outputs = async (program: ProgramFolder): Promise<Record<string, unknown>> =>
  JSON.parse(await program.run("stack", "output", "--json")) as Record<string, unknown>;

const expectClean = (program: ProgramFolder, ...more: string[]): void => {
  expect(program.printed()).not.toMatch(/warning/i);
  expect(findSecrets(program.printed(), [API_KEY, VERIFICATION_KEY, ...more])).toEqual([]);
};

test("quickstart registers its webhook, exports bot_url and status, and removes it", async () => {
  const program = await open("quickstart", {
    "apichat:baseUrl": workspace("single").baseUrl,
    "apichat:apiKey": API_KEY,
    webhookUrl: `${endpoint.url}/quickstart`,
    verificationKey: VERIFICATION_KEY,
  });
  await up(program);
  const { botUrl, registration } = workspace("single");
  expect(registration).toMatchObject({
    webhook_url: `${endpoint.url}/quickstart`,
    webhook_verification_key: VERIFICATION_KEY,
  });
  expect(await outputs(program)).toEqual({ bot_url: botUrl, status: "verified" });
  await destroy(program);
  expect(workspace("single").registration).toBeUndefined();
  expectClean(program);
});

const deliver = async (signed: { url: string; verificationKey: string }): Promise<number> =>
  (await fetch(await createDelivery("text", signed))).status;

test("rotation registers a new key at the same URL, accepts both, and is removed", async () => {
  const { baseUrl, botUrl } = workspace("rotated");
  const program = await open("rotation", {
    "apichat:baseUrl": baseUrl,
    "apichat:apiKey": API_KEY,
    keySeed: SEED,
    "rotations[0]": "2026-09",
  });
  const registration = () => {
    const { webhook_url: url = "", webhook_verification_key: verificationKey = "" } =
      workspace("rotated").registration ?? {};
    return { url, verificationKey };
  };
  await up(program);
  const first = registration();
  expect(await outputs(program)).toEqual({
    bot_url: botUrl,
    status: "verified",
    webhook_url: first.url,
    data_dir: expect.stringMatching(
      /\/state\/pulumi-apichat\/apichat-rotation\/dev-[^/]+\/rotation$/,
    ) as string,
  });

  await configure(program, { "rotations[0]": "2026-12", "rotations[1]": "2026-09" });
  await up(program);
  const second = registration();
  expect(second.url).toBe(first.url);
  expect(second.verificationKey).not.toBe(first.verificationKey);
  expect([await deliver(first), await deliver(second)]).toEqual([200, 200]);

  await destroy(program);
  expect(workspace("rotated").registration).toBeUndefined();
  expect(await processesNaming(scene.backend.folder)).toEqual([]);
  expect(
    findSecrets(program.printed(), [API_KEY, SEED, first.verificationKey, second.verificationKey]),
  ).toEqual([]);
});

const keySettings = (of: readonly string[]) =>
  Object.fromEntries(of.map((name) => [`verificationKeys.${name}`, keys[name] ?? ""]));

describe("workspaces and consumer", () => {
  let workspaces: ProgramFolder;
  const writeList = (...lines: string[]): Promise<void> =>
    writeFile(join(workspaces.path, "workspaces.yaml"), lines.join("\n"));
  beforeAll(async () => {
    workspaces = await open("workspaces", { "apichat:apiKey": API_KEY, ...keySettings(["acme"]) });
  });

  test("a list with mistakes fails before anything is registered, and names all of them", async () => {
    await writeList(
      "webhookUrl: ''",
      "workspaces: [{ name: a b, baseUrl: 4 }, { name: x, baseUrl: y }, { name: x }]",
    );
    const output = await workspaces.fails("preview");
    const inEntries = ["[0].name", "[0].baseUrl", "[1].baseUrl", "[2].baseUrl", "[2].name"];
    const problems = ["webhookUrl", ...inEntries.map((place) => `workspaces${place}`)];
    expect(problems.filter((place) => !output.includes(`${place}: `))).toEqual([]);
  });

  test("workspaces without a key fail, and the commands that make the keys are printed", async () => {
    const entries = names.map((name) => `  - { name: ${name}, baseUrl: "${workspace(name).baseUrl}" }`);
    await writeList(`webhookUrl: ${endpoint.url}/all`, "workspaces:", ...entries);
    const output = await workspaces.fails("preview");
    const printed = output.matchAll(/pulumi config set --secret.* verificationKeys\.(\w+)/g);
    expect(new Set([...printed].map(([, name]) => name))).toEqual(new Set(["globex", "initech"]));
    expect(registeredWorkspaces(scene)).toEqual([]);
  });

  test("each workspace has its own key at the one receiver, and the consumer reads bot_url and status", async () => {
    await configure(workspaces, keySettings(["globex", "initech"]));
    await up(workspaces);
    for (const name of names) {
      expect(workspace(name).registration).toMatchObject({
        webhook_url: `${endpoint.url}/all`,
        webhook_verification_key: keys[name],
      });
    }
    const expected = {
      bot_url: Object.fromEntries(names.map((name) => [name, workspace(name).botUrl])),
      status: Object.fromEntries(names.map((name) => [name, "verified"])),
    };
    expect(await outputs(workspaces)).toEqual(expected);

    const consumer = await open("consumer", { workspacesStack: "organization/apichat-workspaces/dev" });
    await up(consumer);
    const { environment, ...read } = await outputs(consumer);
    expect(read).toEqual(expected);
    const { APICHAT_BOT_URLS } = environment as { APICHAT_BOT_URLS: string };
    expect(JSON.parse(APICHAT_BOT_URLS)).toEqual(expected.bot_url);
    expectClean(consumer);

    await destroy(workspaces);
    expect(registeredWorkspaces(scene)).toEqual([]);
    expect(findSecrets(workspaces.printed(), [API_KEY, VERIFICATION_KEY])).toEqual([]);
  });
});
