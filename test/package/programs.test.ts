import { mkdir, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { execa } from "execa";
import { startEmulator, type Emulator, type Workspace } from "pulumi-apichat/emulator";
import { afterAll, beforeAll, expect, test } from "vitest";
import { API_KEY, startEndpoint, VERIFICATION_KEY, type Endpoint } from "../support/endpoint.ts";
import { packPackage, type PackageManager, type PackedPackage } from "../support/packed-package.ts";
import { openProgramFolder, type ProgramFolder } from "../support/program-folder.ts";
import { findSecrets } from "../support/secrets.ts";
import { createBackend, type Backend } from "../support/stack.ts";
import { root } from "../support/pages.ts";

const body = `
const webhook = new ApiChatWebhook("acme", {
  webhookUrl: process.env.WEBHOOK_URL ?? "",
  webhookVerificationKey: process.env.VERIFICATION_KEY ?? "",
});
`;
/** Programs as users have them, each as the files of a folder. The programs of test/engine are ES modules. */
const programs: Record<PackageManager, Record<string, string>> = {
  npm: {
    "tsconfig.json": JSON.stringify({
      compilerOptions: { strict: true, target: "es2022", module: "nodenext", moduleResolution: "nodenext" },
      files: ["index.ts"],
    }),
    "index.ts": `import * as pulumi from "@pulumi/pulumi";
import { ApiChatWebhook } from "pulumi-apichat";
${body}
export const bot_url: pulumi.Output<string> = webhook.botUrl;
export const status: pulumi.Output<string> = webhook.status;
`,
  },
  pnpm: {
    "index.js": `const { ApiChatWebhook } = require("pulumi-apichat");
${body}
exports.bot_url = webhook.botUrl;
exports.status = webhook.status;
`,
  },
};
const managers = Object.keys(programs) as PackageManager[];

let packed: PackedPackage;
let backend: Backend;
let emulator: Emulator;
let endpoint: Endpoint;

beforeAll(async () => {
  packed = await packPackage();
  backend = await createBackend();
  endpoint = await startEndpoint();
  emulator = await startEmulator({
    workspaces: managers.map((name) => ({ name, apiKey: API_KEY })),
  });
});

afterAll(async () => {
  await emulator?.close();
  await endpoint?.close();
  await packed?.remove();
});

test.each(managers)(
  "up works in a program with the packed tarball, installed with %s outside the repository",
  async (manager) => {
    const workspace = emulator.workspace(manager);
    const environment = {
      APICHAT_BASE_URL: workspace.baseUrl,
      APICHAT_API_KEY: API_KEY,
      WEBHOOK_URL: `${endpoint.url}/${manager}`,
      VERIFICATION_KEY,
      // The types are checked, as for users.
      PULUMI_NODEJS_TRANSPILE_ONLY: "",
    };
    const path = await writeProgram(await packed.install(manager), manager);
    const folder = openProgramFolder(backend, path, environment);
    await folder.run("stack", "init", "dev");
    const output = await folder.run("up", "--yes", "--skip-preview");
    expect(workspace.registration).toMatchObject({
      webhook_url: environment.WEBHOOK_URL,
      webhook_verification_key: VERIFICATION_KEY,
      webhook_status: "verified",
    });
    expect(output).toMatch(/^ +status *: "verified"$/m);
    expect(output).toContain(`: "${workspace.botUrl}"`);

    if (manager === "npm") await expectRefreshAndDestroy(folder, workspace);
    expect(folder.printed()).not.toMatch(/warning/i);
    expect(findSecrets(folder.printed(), [API_KEY, VERIFICATION_KEY])).toEqual([]);
  },
);
test("npm run test:portable passes with the packed tarball, and leaves nothing behind", async () => {
  const temporary = join(packed.folder, "temporary");
  await mkdir(temporary);
  const env = { ...backend.environment, TARBALL_FOLDER: packed.folder, TMPDIR: temporary };
  const options = { cwd: root, env, extendEnv: false, all: true, reject: false } as const;
  const { exitCode, all } = await execa("npm", ["run", "--silent", "test:portable"], options);
  expect({ exitCode, all }).toMatchObject({ exitCode: 0 });
  expect(all).toMatch(/^pulumi v3\..*\nnpm install .*\n(.*\n)*.* in nodejs\n.* in yaml\npassed on linux/m);
  expect((await readdir(temporary)).filter((name) => name.startsWith("apichat"))).toEqual([]);
});

test("npm run test:portable reports a missing pulumi", async () => {
  const options = { cwd: root, env: { PATH: "" }, extendEnv: false, reject: false } as const;
  const { exitCode, stderr } = await execa(process.execPath, ["test/package/portable.ts"], options);
  expect({ exitCode, stderr }).toEqual({
    exitCode: 1,
    stderr: expect.stringMatching(/^FAILED on .*: there is no pulumi on PATH: install it, see https:.*$/),
  });
});

/** refresh and destroy run no program: they load the package from the program's folder. */
async function expectRefreshAndDestroy(folder: ProgramFolder, workspace: Workspace): Promise<void> {
  workspace.change({ webhook_url: `${endpoint.url}/other` });
  expect(await folder.run("refresh", "--yes", "--skip-preview")).toContain("[diff: ~webhookUrl]");
  workspace.change({ webhook_url: `${endpoint.url}/${workspace.name}` });
  await folder.run("destroy", "--yes", "--skip-preview");
  expect(workspace.registration).toBeUndefined();
}

async function writeProgram(project: string, manager: PackageManager): Promise<string> {
  const folder = join(project, "program");
  await mkdir(folder);
  const common = { "package.json": "{}", "Pulumi.yaml": `name: ${manager}\nruntime: nodejs\n` };
  for (const [name, text] of Object.entries({ ...common, ...programs[manager] }))
    await writeFile(join(folder, name), text);
  return folder;
}
