import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import * as yaml from "yaml";
import { API_KEY, VERIFICATION_KEY } from "../support/endpoint.ts";
import { createYamlProject, type YamlProject } from "../support/program-folder.ts";
import {
  callsOf,
  expectCleanBackend,
  expectNoSecrets,
  openScene,
  writesSince,
  type Scene,
} from "../support/scene.ts";
import { findSecrets } from "../support/secrets.ts";

const names = ["acme", "globex", "initech"];
const type = "apichat:ApiChatWebhook";
const up = ["up", "--yes", "--skip-preview"];

interface Program {
  resources: { acme: { properties: object } };
}

let scene: Scene;
let project: YamlProject;
let generated: Program;

const baseUrl = (name: string): string => scene.emulator.workspace(name).baseUrl;
const urlOf = (name: string): string => `${scene.endpoint.url}/${name}`;

/** Returns the generated program with these properties of acme added or changed. */
const change = ({ resources: { acme } }: Program, properties: object): Program => ({
  resources: { acme: { ...acme, properties: { ...acme.properties, ...properties } } },
});

beforeAll(async () => {
  scene = await openScene(names);
  for (const name of names) {
    const webhook_verification_key = VERIFICATION_KEY;
    scene.emulator.workspace(name).takeOver({ webhook_url: urlOf(name), webhook_verification_key });
  }
  project = await createYamlProject(scene, { APICHAT_API_KEY: API_KEY });
});

test("an import generates a program without the key, and an up with this program changes nothing", async () => {
  const file = join(project.path, "generated.yaml");
  const command = ["import", "apichat:index:ApiChatWebhook", "acme", baseUrl("acme")];
  expect(await project.run(...command, "--yes", "--out", file)).toMatch(/warning: webhookVerificationKey/);
  const text = await readFile(file, "utf8");
  expect(findSecrets(text, [API_KEY, VERIFICATION_KEY])).toEqual([]);
  generated = yaml.parse(text) as Program;
  expect(generated.resources.acme.properties).toMatchObject({
    baseUrl: baseUrl("acme"),
    webhookUrl: urlOf("acme"),
  });
  const before = scene.emulator.requests.length;
  await project.write(generated);
  await project.run(...up);
  expect(scene.emulator.requests).toHaveLength(before);
});

test("after an import, an up that changes the webhook fails if the program lacks the key", async () => {
  await project.write(change(generated, { webhookUrl: urlOf("moved") }));
  expect(await project.fails(...up)).toMatch(/webhookVerificationKey .*import/);
});

test("up with the import option can change inputs, up records an added key, and get reads a webhook", async () => {
  const before = scene.emulator.requests.length;
  const properties = {
    baseUrl: baseUrl("globex"),
    webhookUrl: urlOf("moved"),
    webhookVerificationKey: VERIFICATION_KEY,
  };
  const { resources } = change(generated, { webhookVerificationKey: VERIFICATION_KEY });
  await project.write({
    resources: {
      ...resources,
      globex: { type, properties, options: { import: baseUrl("globex") } },
      initech: { type, get: { id: baseUrl("initech") } },
    },
    // oxlint-disable-next-line no-template-curly-in-string -- of Pulumi YAML
    outputs: { bot_url: "${initech.botUrl}" },
  });
  expect(await project.run(...up)).toContain(scene.emulator.workspace("initech").botUrl);
  expect(writesSince(scene, before)).toEqual(["set-webhook globex"]);
  expect(scene.emulator.workspace("globex").registration?.webhook_url).toBe(urlOf("moved"));
  expect(callsOf(scene, "get-webhook", "acme")).toHaveLength(3);
  await expectNoSecrets(project);
  await expectCleanBackend(scene.backend, [API_KEY, VERIFICATION_KEY]);
});
