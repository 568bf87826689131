import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { createProject, type Project } from "../support/project.ts";
import { failuresIn } from "../support/failures.ts";
import {
  callsOf,
  declareWebhooks,
  findLeaks,
  openScene,
  registeredWorkspaces,
  webhookUrlOf,
  type Scene,
} from "../support/scene.ts";
import { createStack, requireSuccess, type TestStack } from "../support/stack.ts";

const names = ["acme", "globex", "initech", "umbrella"];

describe("a webhook outlives the names that a program gives it", () => {
  let scene: Scene;
  let stack: TestStack;

  beforeAll(async () => {
    scene = await openScene(names);
    stack = await createStack(scene.backend, { program: declareWebhooks(scene, names) });
    requireSuccess(await stack.up());
  });
  afterAll(() => scene.close());

  const expectAllAlive = (): void => {
    expect(registeredWorkspaces(scene)).toEqual(names);
    for (const name of names) {
      const { registration } = scene.emulator.workspace(name);
      expect(registration).toMatchObject({
        webhook_url: webhookUrlOf(scene, name),
        webhook_status: "verified",
      });
    }
  };

  test("a rename without an alias adopts it and removes nothing; one with an alias changes nothing", async () => {
    const program = declareWebhooks(scene, [
      { workspace: "acme", name: "acme-renamed" },
      { workspace: "globex", name: "globex-renamed", options: { aliases: [{ name: "globex" }] } },
      "initech",
      "umbrella",
    ]);
    stack.run(program);
    const { output, changes } = requireSuccess(await stack.up());
    expect(changes).toMatchObject({ create: 1, delete: 1 });
    expect(output).toContain(
      'acme: the webhook stays: it is still managed by this program, as "acme-renamed"',
    );
    expect(callsOf(scene, "delete-webhook")).toEqual([]);
    expect(callsOf(scene, "set-webhook")).toHaveLength(names.length);
    expectAllAlive();
  });

  test("a rename brought in with --target is the same", async () => {
    stack.run(
      declareWebhooks(scene, [
        { workspace: "acme", name: "acme-renamed" },
        { workspace: "globex", name: "globex-renamed" },
        { workspace: "initech", name: "initech-renamed" },
        "umbrella",
      ]),
    );
    const targeted = await stack.up({ target: ["**initech-renamed"] });
    expect(targeted).toMatchObject({ ok: true, changes: { create: 1 } });
    expect(targeted.changes).not.toHaveProperty("delete");
    const { output, changes } = requireSuccess(await stack.up());
    expect(changes).toMatchObject({ delete: 1 });
    expect(output).toContain(
      'initech: the webhook stays: it is still managed by this program, as "initech-renamed"',
    );
    expect(callsOf(scene, "delete-webhook")).toEqual([]);
    expectAllAlive();
  });

  test("up --replace removes it first and sets it again", async () => {
    const { changes } = requireSuccess(await stack.up({ replace: ["**umbrella"] }));
    expect(changes).toMatchObject({ replace: 1 });
    expect(callsOf(scene, "delete-webhook")).toMatchObject([{ workspace: "umbrella", status: 200 }]);
    const actions = scene.emulator.requests.filter(({ workspace }) => workspace === "umbrella");
    expect(actions.map(({ action }) => action).slice(-5)).toEqual([
      "get-webhook",
      "delete-webhook",
      "get-webhook",
      "set-webhook",
      "get-webhook",
    ]);
    expectAllAlive();
  });

  test("up --replace of one that is renamed with an alias sets the new URL in place", async () => {
    const moved = {
      workspace: "globex",
      name: "globex-again",
      options: { aliases: [{ name: "globex-renamed" }] },
      args: { webhookUrl: `${scene.endpoint.url}/moved` },
    };
    stack.run(
      declareWebhooks(scene, [
        { workspace: "acme", name: "acme-renamed" },
        moved,
        { workspace: "initech", name: "initech-renamed" },
        "umbrella",
      ]),
    );
    const { output, changes } = requireSuccess(await stack.up({ replace: ["**globex-again"] }));
    expect(changes).toMatchObject({ replace: 1 });
    expect(output).toContain('still managed by this program, as "globex-again"');
    expect(registeredWorkspaces(scene)).toEqual(names);
    expect(scene.emulator.workspace("globex").registration).toMatchObject({
      webhook_url: moved.args.webhookUrl,
    });
  });

  test("up --replace leaves a live webhook alone whose replacement fails the handshake", async () => {
    const { registration } = scene.emulator.workspace("umbrella");
    const args = { webhookUrl: "http://127.0.0.1:9/nobody", timeouts: { readySeconds: 0 } };
    stack.run(
      declareWebhooks(scene, [
        { workspace: "acme", name: "acme-renamed" },
        { workspace: "globex", name: "globex-again", args: { webhookUrl: `${scene.endpoint.url}/moved` } },
        { workspace: "initech", name: "initech-renamed" },
        { workspace: "umbrella", args },
      ]),
    );
    const { ok, output } = await stack.up({ replace: ["**umbrella"] });
    expect(ok).toBe(false);
    expect(output).toContain("the handshake with http://127.0.0.1:9/nobody failed");
    expect(scene.emulator.workspace("umbrella").registration).toEqual(registration);
  });

  test("two resources for one workspace are one failure that names both, and nothing is called", async () => {
    const requestsBefore = scene.emulator.requests.length;
    stack.run(
      declareWebhooks(scene, [
        { workspace: "acme", name: "acme-renamed" },
        { workspace: "acme", name: "acme-again" },
      ]),
    );
    const { ok, output } = await stack.preview();
    expect(ok).toBe(false);
    expect(output).toContain('"acme-again" and "acme-renamed" declare the same workspace');
    expect(failuresIn(output)).toHaveLength(1);
    expect(scene.emulator.requests).toHaveLength(requestsBefore);
  });

  test("and no secret is printed or in the state", async () => {
    expect(await findLeaks([stack])).toEqual([]);
  });
});

describe("a webhook outlives an engine killed between the create under its new name and the pending delete", () => {
  let scene: Scene;
  let project: Project;

  beforeAll(async () => {
    scene = await openScene(["acme", "globex", "initech"]);
    project = await createProject(scene);
  });
  afterAll(async () => {
    await project.remove();
    await scene.close();
  });

  test("it lives after the kill and after the next up, which removes nothing", async () => {
    // With deleteBeforeReplace: false the engine keeps the old resource as a pending delete.
    const replaced = { workspace: "globex", options: { deleteBeforeReplace: false } };
    await project.declare(["acme", replaced]);
    requireSuccess(await project.run("up", "--yes", "--skip-preview"));

    scene.emulator.injectFault({
      operation: "set-webhook",
      workspace: "initech",
      fault: { delayMs: 3_600_000 },
    });
    await project.declare([{ workspace: "acme", name: "acme-renamed" }, replaced, "initech"]);
    const run = project.start("up", "--yes", "--skip-preview", "--replace", "**globex");
    // The state counts, not what is printed: that comes first.
    await vi.waitUntil(
      async () => {
        const written = await project.checkpoint();
        const hasBoth = written.includes("ApiChatWebhook::acme-renamed") && written.includes('"delete":true');
        return hasBoth && callsOf(scene, "set-webhook", "initech").length === 1;
      },
      { timeout: 60_000 },
    );
    await run.killEverything();
    expect(await run.done).toMatchObject({ ok: false });
    expect(registeredWorkspaces(scene)).toEqual(["acme", "globex"]);
    scene.emulator.clearFaults();

    const cancelled = await project.run("cancel", "--yes");
    requireSuccess(cancelled);
    const stateAfterKill = await project.exportedState();
    expect(stateAfterKill).toContain('"delete": true');
    expect(stateAfterKill).toContain("ApiChatWebhook::acme-renamed");
    const repaired = await project.run("up", "--yes", "--skip-preview");
    requireSuccess(repaired);
    expect(callsOf(scene, "delete-webhook")).toEqual([]);
    expect(registeredWorkspaces(scene)).toEqual(["acme", "globex", "initech"]);
    const repairedState = await project.exportedState();
    expect(repairedState).not.toContain('"delete": true');
    expect(repairedState).not.toMatch(/ApiChatWebhook::acme"/);
  });

  test("destroy then leaves nothing, and no secret is printed or in the state", async () => {
    expect(await findLeaks([project])).toEqual([]);
    const destroyed = await project.run("destroy", "--yes", "--skip-preview");
    requireSuccess(destroyed);
    expect(registeredWorkspaces(scene)).toEqual([]);
  });
});
