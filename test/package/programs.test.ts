import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { startEmulator, type Emulator, type Workspace } from "pulumi-apichat/emulator";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { API_KEY, startEndpoint, VERIFICATION_KEY, type Endpoint } from "../support/endpoint.ts";
import { packPackage, type PackageManager, type PackedPackage } from "../support/packed-package.ts";
import { openProgramFolder, type ProgramFolder } from "../support/program-folder.ts";
import { findSecrets } from "../support/secrets.ts";
import { createBackend, type Backend } from "../support/stack.ts";

const body = `
const webhook = new ApiChatWebhook("acme", {
  webhookUrl: process.env.WEBHOOK_URL ?? "",
  webhookVerificationKey: process.env.VERIFICATION_KEY ?? "",
});
`;
const typescriptProgram = `import * as pulumi from "@pulumi/pulumi";
import { ApiChatWebhook } from "pulumi-apichat";
${body}
export const bot_url: pulumi.Output<string> = webhook.botUrl;
export const status: pulumi.Output<string> = webhook.status;
`;

/** Programs as they are found at users: each is the files of a folder. */
const programs: Record<string, Record<string, string>> = {
  "typescript-nodenext": {
    "package.json": "{}",
    "tsconfig.json": compilerOptions({
      strict: true,
      target: "es2022",
      module: "nodenext",
      moduleResolution: "nodenext",
    }),
    "index.ts": typescriptProgram,
  },
  // As the older Pulumi templates write it: all declarations are checked.
  "typescript-commonjs": {
    "package.json": "{}",
    "tsconfig.json": compilerOptions({
      strict: true,
      target: "es2020",
      module: "commonjs",
      moduleResolution: "node",
      noImplicitReturns: true,
      forceConsistentCasingInFileNames: true,
    }),
    "index.ts": typescriptProgram,
  },
  "javascript-commonjs": {
    "package.json": "{}",
    "index.js": `const { ApiChatWebhook } = require("pulumi-apichat");
${body}
exports.bot_url = webhook.botUrl;
exports.status = webhook.status;
`,
  },
  "javascript-esm": {
    "package.json": '{ "type": "module" }',
    "index.js": `import { ApiChatWebhook } from "pulumi-apichat";
${body}
export const { botUrl: bot_url, status } = webhook;
`,
  },
};

/** What a package manager changes is where the packages lie, not how a kind of program loads them. */
const runs: [PackageManager, keyof typeof programs][] = [
  ["npm", "typescript-nodenext"],
  ["npm", "typescript-commonjs"],
  ["npm", "javascript-esm"],
  ["pnpm", "javascript-commonjs"],
];

let packed: PackedPackage;
let backend: Backend;
let emulator: Emulator;
let endpoint: Endpoint;

beforeAll(async () => {
  packed = await packPackage();
  backend = await createBackend();
  endpoint = await startEndpoint();
  emulator = await startEmulator({
    workspaces: runs.map((run) => ({ name: run.join("-"), apiKey: API_KEY })),
  });
});

afterAll(async () => {
  await emulator?.close();
  await endpoint?.close();
  await packed?.remove();
});

describe.each(["npm", "pnpm"] as const)(
  "The packed tarball, installed with %s outside the repository",
  (manager) => {
    let project: string;

    beforeAll(async () => {
      project = await packed.install(manager);
    });

    const own = runs.filter(([one]) => one === manager);

    test.each(own)("with %s, up works from %s", async (_, program) => {
      const workspace = emulator.workspace(`${manager}-${program}`);
      const environment = {
        APICHAT_BASE_URL: workspace.baseUrl,
        APICHAT_API_KEY: API_KEY,
        WEBHOOK_URL: `${endpoint.url}/${workspace.name}`,
        VERIFICATION_KEY,
        // As for users, the types are checked.
        PULUMI_NODEJS_TRANSPILE_ONLY: "",
      };
      const folder = openProgramFolder(backend, await writeProgram(project, program, manager), environment);
      await folder.run("stack", "init", "dev");
      const output = await folder.run("up", "--yes", "--skip-preview");
      expect(workspace.registration).toMatchObject({
        webhook_url: environment.WEBHOOK_URL,
        webhook_verification_key: VERIFICATION_KEY,
        webhook_status: "verified",
      });
      expect(output).toMatch(/^ +status *: "verified"$/m);
      expect(output).toContain(`: "${workspace.botUrl}"`);

      if (program === "typescript-nodenext") await expectRefreshAndDestroy(folder, workspace);
      expect(folder.printed()).not.toMatch(/warning/i);
      expect(findSecrets(folder.printed(), [API_KEY, VERIFICATION_KEY])).toEqual([]);
    });
  },
);

/** These load no program, but the package from where the program lies. */
async function expectRefreshAndDestroy(folder: ProgramFolder, workspace: Workspace): Promise<void> {
  workspace.change({ webhook_url: `${endpoint.url}/other` });
  expect(await folder.run("refresh", "--yes", "--skip-preview")).toContain("[diff: ~webhookUrl]");
  workspace.change({ webhook_url: `${endpoint.url}/${workspace.name}` });
  await folder.run("destroy", "--yes", "--skip-preview");
  expect(workspace.registration).toBeUndefined();
}

async function writeProgram(project: string, program: string, manager: PackageManager): Promise<string> {
  const folder = join(project, program);
  await mkdir(folder);
  const files = { ...programs[program], "Pulumi.yaml": `name: ${manager}-${program}\nruntime: nodejs\n` };
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text);
  return folder;
}

function compilerOptions(options: object): string {
  return JSON.stringify({ compilerOptions: options, files: ["index.ts"] });
}
