import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { SEED } from "../support/derived-keys.ts";
import { API_KEY, startEndpoint, VERIFICATION_KEY, type Endpoint } from "../support/endpoint.ts";
import { copyExample, type ProgramFolder } from "../support/program-folder.ts";
import { deliverTo } from "../support/responder.ts";
import { openScene, type Scene } from "../support/scene.ts";
import { findSecrets } from "../support/secrets.ts";

let scene: Scene;
let endpoint: Endpoint;

beforeAll(async () => {
  scene = await openScene(["webhook-only", "yaml-webhook-only", "rotated"]);
  endpoint = await startEndpoint();
});

const workspace = (name: string) => scene.emulator.workspace(name);

/** Copies an example, and creates a stack with these settings, as the example's README says. */
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

const outputs = async (program: ProgramFolder): Promise<Record<string, unknown>> =>
  JSON.parse(await program.run("stack", "output", "--json")) as Record<string, unknown>;

test.each(["webhook-only", "yaml/webhook-only"])(
  "%s registers its webhook, and exports bot_url and status",
  async (example) => {
    const { baseUrl, botUrl } = workspace(example.replace("/", "-"));
    const program = await open(example, {
      "apichat:baseUrl": baseUrl,
      "apichat:apiKey": API_KEY,
      webhookUrl: `${endpoint.url}/endpoint`,
      verificationKey: VERIFICATION_KEY,
    });
    await up(program);
    expect(workspace(example.replace("/", "-")).registration).toMatchObject({
      webhook_url: `${endpoint.url}/endpoint`,
      webhook_verification_key: VERIFICATION_KEY,
    });
    expect(await outputs(program)).toEqual({ bot_url: botUrl, status: "verified" });
    expect(program.printed()).not.toMatch(/warning/i);
    expect(findSecrets(program.printed(), [API_KEY, VERIFICATION_KEY])).toEqual([]);
  },
);

test("rotation registers a new key with the same URL, and deliveries signed with either key are accepted", async () => {
  const { baseUrl, botUrl } = workspace("rotated");
  const program = await open("rotation", {
    "apichat:baseUrl": baseUrl,
    "apichat:apiKey": API_KEY,
    keySeed: SEED,
    "rotations[0]": "2026-09",
  });
  const registration = () => {
    const { webhook_url: url = "", webhook_verification_key: key = "" } =
      workspace("rotated").registration ?? {};
    return { url, key };
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
  expect(second.key).not.toBe(first.key);
  expect([await deliverTo(first.url, first.key), await deliverTo(second.url, second.key)]).toEqual([
    200, 200,
  ]);

  expect(findSecrets(program.printed(), [API_KEY, SEED, first.key, second.key])).toEqual([]);
});

test("the example workspaces fails if keys are missing, and prints the commands that create them", async () => {
  const program = await open("workspaces", {
    "apichat:apiKey": API_KEY,
    "verificationKeys.acme": VERIFICATION_KEY,
  });
  const names = ["acme", "globex", "initech"];
  const workspaces = names.map((name) => ({ name, baseUrl: `${workspace("rotated").baseUrl}/${name}` }));
  const list = { webhookUrl: endpoint.url, workspaces };
  await writeFile(join(program.path, "workspaces.yaml"), JSON.stringify(list));
  const output = await program.fails("preview");
  const printed = output.matchAll(/pulumi config set --secret.* verificationKeys\.(\w+)/g);
  expect(new Set([...printed].map(([, name]) => name))).toEqual(new Set(["globex", "initech"]));
});
