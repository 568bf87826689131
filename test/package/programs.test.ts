import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
import { API_KEY, VERIFICATION_KEY } from "../support/endpoint.ts";
import { packPackage, type PackedPackage } from "../support/packed-package.ts";
import { openProgramFolder } from "../support/program-folder.ts";
import { openScene, type Scene } from "../support/scene.ts";
import { findSecrets } from "../support/secrets.ts";

/**
 * A program as a user would write it. This test installs its packages with pnpm. Programs whose packages are
 * installed with npm are tested by `npm run test:portable`.
 */
const PROGRAM = {
  "package.json": "{}",
  "Pulumi.yaml": "name: program\nruntime: nodejs\n",
  "tsconfig.json": JSON.stringify({
    compilerOptions: { strict: true, target: "es2022", module: "nodenext", moduleResolution: "nodenext" },
    files: ["index.ts"],
  }),
  "index.ts": `import * as pulumi from "@pulumi/pulumi";
import { ApiChatWebhook } from "pulumi-apichat";

const webhook = new ApiChatWebhook("acme", {
  webhookUrl: process.env.WEBHOOK_URL ?? "",
  webhookVerificationKey: process.env.VERIFICATION_KEY ?? "",
});
export const bot_url: pulumi.Output<string> = webhook.botUrl;
export const status: pulumi.Output<string> = webhook.status;
`,
};

let packed: PackedPackage;
let scene: Scene;

beforeAll(async () => {
  [packed, scene] = await Promise.all([packPackage(), openScene(["acme"])]);
});

test("up, refresh and destroy work in a program if pnpm installs the packed tarball", async () => {
  const workspace = scene.emulator.workspace("acme");
  const webhookUrl = `${scene.endpoint.url}/acme`;
  const path = join(await packed.install(), "program");
  await mkdir(path);
  for (const [name, text] of Object.entries(PROGRAM)) await writeFile(join(path, name), text);
  const folder = openProgramFolder(scene.backend, path, {
    APICHAT_BASE_URL: workspace.baseUrl,
    APICHAT_API_KEY: API_KEY,
    WEBHOOK_URL: webhookUrl,
    VERIFICATION_KEY,
    // Unlike most tests, this one lets Pulumi check the program's types, as it does for users.
    PULUMI_NODEJS_TRANSPILE_ONLY: "",
  });
  await folder.run("stack", "init", "dev");
  const output = await folder.run("up", "--yes", "--skip-preview");
  expect(workspace.registration).toMatchObject({
    webhook_url: webhookUrl,
    webhook_verification_key: VERIFICATION_KEY,
    webhook_status: "verified",
  });
  expect(output).toMatch(/^ +status *: "verified"$/m);
  expect(output).toContain(`: "${workspace.botUrl}"`);

  // refresh and destroy do not run the program, but they too load the package from the program's folder.
  workspace.change({ webhook_url: `${scene.endpoint.url}/other` });
  expect(await folder.run("refresh", "--yes", "--skip-preview")).toContain("[diff: ~webhookUrl]");
  workspace.change({ webhook_url: webhookUrl });
  await folder.run("destroy", "--yes", "--skip-preview");
  expect(workspace.registration).toBeUndefined();
  expect(folder.printed()).not.toMatch(/warning/i);
  expect(findSecrets(folder.printed(), [API_KEY, VERIFICATION_KEY])).toEqual([]);
});
