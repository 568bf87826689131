import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { API_KEY, VERIFICATION_KEY } from "../support/endpoint.ts";
import type { ProcessInfo } from "../support/processes.ts";
import { createProject, type Project } from "../support/project.ts";
import {
  callsOf,
  findLeaks,
  openScene,
  QUERY_VALUE,
  registeredWorkspaces,
  type Declaration,
  type Scene,
} from "../support/scene.ts";
import { requireSuccess } from "../support/stack.ts";
import { findSecrets } from "../support/secrets.ts";

const ENVIRONMENT_KEY = "ak-environment-0123456789";
const NEXT_KEY = "vk-next-0123456789";
const STRANGE_KEY = "vk-strange-0123456789";
const BASE_QUERY = "tenant-0123456789";
const secrets = [API_KEY, VERIFICATION_KEY, QUERY_VALUE, ENVIRONMENT_KEY, NEXT_KEY, STRANGE_KEY, BASE_QUERY];

const HOLD_MS = 1500;

const expectCleanArguments = (processes: readonly ProcessInfo[]): void => {
  const commandLines = processes.map(({ commandLine }) => commandLine.join(" "));
  // The CLI and the provider at least: else nothing was looked at.
  expect(commandLines.some((line) => line.includes("/pulumi "))).toBe(true);
  expect(commandLines.some((line) => line.includes("dynamic-provider"))).toBe(true);
  expect(findSecrets(commandLines.join("\n"), secrets)).toEqual([]);
};

describe("no key and no query value leaves a run in clear", () => {
  let scene: Scene;
  let project: Project;
  const declarations: Declaration[] = [
    { workspace: "argument" },
    { workspace: "environment", args: { apiKey: undefined } },
  ];

  beforeAll(async () => {
    scene = await openScene([], {
      workspaces: [
        { name: "argument", apiKey: API_KEY, baseUrlQuery: `tenant=${BASE_QUERY}` },
        { name: "environment", apiKey: ENVIRONMENT_KEY },
      ],
    });
    project = await createProject(scene, { APICHAT_API_KEY: ENVIRONMENT_KEY });
    await project.declare(declarations);
  });
  afterAll(async () => {
    await project.remove();
    await scene.close();
  });

  /** Runs a command, and looks at its processes while the service holds a call of the provider. */
  const watch = async (...parameters: string[]): Promise<ProcessInfo[]> => {
    const before = callsOf(scene, "get-webhook").length;
    scene.emulator.injectFault({ operation: "get-webhook", fault: { delayMs: HOLD_MS } });
    const run = project.start(...parameters);
    await vi.waitUntil(() => callsOf(scene, "get-webhook").length > before, { timeout: 60_000 });
    const processes = await run.processes();
    requireSuccess(await run.done);
    return processes;
  };

  test("the search finds a secret plain, URL-encoded and in base64", () => {
    for (const secret of secrets) {
      const traces = [
        secret,
        encodeURIComponent(secret),
        Buffer.from(secret).toString("base64"),
        Buffer.from(`{"key":"${secret}"}`).toString("base64"),
      ];
      for (const trace of traces) expect(findSecrets(`... ${trace} ...`, [secret])).not.toEqual([]);
    }
    expect(findSecrets("nothing of the kind", secrets)).toEqual([]);
  });

  test("not in the arguments of any process of up, refresh and destroy, nor in what they print", async () => {
    expectCleanArguments(await watch("up", "--yes", "--skip-preview"));
    expect(registeredWorkspaces(scene)).toEqual(["argument", "environment"]);
    expectCleanArguments(await watch("refresh", "--yes", "--skip-preview"));
    expect(await findLeaks([project], secrets)).toEqual([]);
  });

  test("not in a preview that shows a changed URL and key, nor in a failing check", async () => {
    const changed = {
      webhookUrl: `${scene.endpoint.url}/next?token=${QUERY_VALUE}`,
      webhookVerificationKey: NEXT_KEY,
    };
    await project.declare(declarations.map((given) => ({ ...given, args: { ...given.args, ...changed } })));
    const preview = await project.run("preview", "--diff");
    requireSuccess(preview);
    expect(preview.output).toContain("argument: webhookVerificationKey changes");
    const wrong = { webhookVerificationKey: `${NEXT_KEY} `, webhookUrl: `/next?token=${QUERY_VALUE}` };
    await project.declare(declarations.map((given) => ({ ...given, args: { ...given.args, ...wrong } })));
    const refused = await project.run("preview", "--diff");
    expect(refused.ok).toBe(false);
    expect(refused.output).toContain("webhookVerificationKey: must be without white space");
    expect(await findLeaks([project], secrets)).toEqual([]);
  });

  test("not in what a refresh shows of a drift", async () => {
    scene.emulator.workspace("argument").change({
      webhook_url: `${scene.endpoint.url}/strange?token=${QUERY_VALUE}`,
      webhook_verification_key: STRANGE_KEY,
    });
    await project.declare(declarations);
    const refreshed = await project.run("refresh", "--yes", "--diff");
    requireSuccess(refreshed);
    expect(refreshed.output).toContain("argument: the service holds another URL and another key");
    const preview = await project.run("preview", "--diff");
    requireSuccess(preview);
    expect(await findLeaks([project], secrets)).toEqual([]);
  });

  test("not in any file of the backend: checkpoints, backups and history", async () => {
    const folder = join(scene.backend.folder, ".pulumi");
    const entries = await readdir(folder, { recursive: true, withFileTypes: true });
    const files = entries.filter((entry) => entry.isFile());
    expect(files.length).toBeGreaterThan(3);
    for (const { parentPath, name } of files) {
      const found = findSecrets(await readFile(join(parentPath, name), "utf8"), secrets);
      expect({ name, found }).toEqual({ name, found: [] });
    }
  });

  test("not in the arguments of destroy", async () => {
    scene.emulator.workspace("argument").change({
      webhook_url: `${scene.endpoint.url}/argument?token=${QUERY_VALUE}`,
      webhook_verification_key: VERIFICATION_KEY,
    });
    expectCleanArguments(await watch("destroy", "--yes", "--skip-preview"));
    expect(registeredWorkspaces(scene)).toEqual([]);
    expect(findSecrets(project.printed(), secrets)).toEqual([]);
  });
});

test("a base URL of a secret configuration stays secret in the state, at create and at every later step", async () => {
  const scene = await openScene([], { workspaces: [{ name: "hidden-0123456789", apiKey: API_KEY }] });
  const project = await createProject(scene);
  try {
    const { baseUrl } = scene.emulator.workspace("hidden-0123456789");
    const declaration = { workspace: "hidden-0123456789", name: "acme", args: { baseUrl: undefined } };
    await project.declare([declaration]);
    requireSuccess(await project.run("config", "set", "--secret", "apichat:baseUrl", baseUrl));
    for (const command of ["up", "refresh", "up"]) {
      requireSuccess(await project.run(command, "--yes", "--skip-preview"));
      expect(findSecrets(await project.exportedState(), [baseUrl])).toEqual([]);
    }
    requireSuccess(await project.run("destroy", "--yes", "--skip-preview"));
  } finally {
    await project.remove();
    await scene.close();
  }
});
