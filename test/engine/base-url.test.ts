import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { API_KEY } from "../support/endpoint.ts";
import {
  callsOf,
  declareWebhooks,
  expectNoSecrets,
  openScene,
  QUERY_VALUE,
  registeredWorkspaces,
  webhookUrlOf,
  writesSince,
  type Declaration,
  type Scene,
} from "../support/scene.ts";
import { createStack, type TestStack } from "../support/stack.ts";
import { findResource, urnOf } from "../support/state.ts";

describe("a changed base URL moves a webhook only on request", () => {
  let scene: Scene;
  let stack: TestStack;

  /** acme's webhook, with the base URL of a workspace, or with none of its own. */
  const declareAt = (workspace: string | undefined): void => {
    const baseUrl = workspace === undefined ? undefined : scene.emulator.workspace(workspace).baseUrl;
    const declaration: Declaration = { workspace: "acme", args: { baseUrl } };
    stack.run(declareWebhooks(scene, [declaration]));
  };

  const recordedBaseUrl = async (): Promise<unknown> =>
    (await findResource(stack, "acme"))?.outputs["baseUrl"];

  beforeAll(async () => {
    scene = await openScene(["acme", "acme-moved", "globex", "empty"]);
    const { emulator } = scene;
    // A second address of the same workspace.
    emulator.workspace("acme-moved").change({ owner: "acme" });
    // The same URL and key, so that only the bot code tells the workspaces apart.
    emulator.workspace("globex").takeOver({
      webhook_url: webhookUrlOf(scene, "acme"),
      webhook_verification_key: "the-key-of-globex-0123456789",
    });
    stack = await createStack(scene.backend, { program: async () => ({}) });
    declareAt("acme");
    const { ok, output } = await stack.up();
    expect(ok, output).toBe(true);
  });
  afterAll(() => scene.close());

  test("an address that reaches the same bot is recorded, without a set", async () => {
    const before = scene.emulator.requests.length;
    declareAt("acme-moved");
    const { ok, output, changes } = await stack.up();
    expect(ok, output).toBe(true);
    expect(changes).toEqual({ update: 1, same: 1 });
    expect(writesSince(scene, before)).toEqual([]);
    expect(await recordedBaseUrl()).toBe(scene.emulator.workspace("acme-moved").baseUrl);
  });

  test.each(["globex", "empty"])("one that reaches another workspace (%s) is a conflict", async (other) => {
    const before = scene.emulator.requests.length;
    const atFirst = scene.emulator.workspace(other).registration;
    declareAt(other);
    const { ok, output } = await stack.up();
    expect(ok).toBe(false);
    expect(output).toMatch(/acme: .*nothing was written.*use a new resource name or pulumi up --replace/s);
    expect(writesSince(scene, before)).toEqual([]);
    expect(scene.emulator.workspace(other).registration).toEqual(atFirst);
    expect(await recordedBaseUrl()).toBe(scene.emulator.workspace("acme-moved").baseUrl);
  });

  test("so is one that came from the environment or from the configuration", async () => {
    const before = scene.emulator.requests.length;
    declareAt(undefined);
    stack.setEnvironment({ APICHAT_BASE_URL: scene.emulator.workspace("globex").baseUrl });
    const fromEnvironment = await stack.up();
    expect(fromEnvironment.ok).toBe(false);
    expect(fromEnvironment.output).toContain(
      `now reaches the bot ${scene.emulator.workspace("globex").botCode}`,
    );
    stack.setEnvironment({ APICHAT_BASE_URL: scene.emulator.workspace("acme-moved").baseUrl });
    await stack.stack.setConfig("apichat:baseUrl", { value: scene.emulator.workspace("globex").baseUrl });
    const fromConfig = await stack.up();
    expect(fromConfig.ok).toBe(false);
    expect(fromConfig.output).toContain("nothing was written");
    expect(writesSince(scene, before)).toEqual([]);
    await stack.stack.removeConfig("apichat:baseUrl");
  });

  test("--replace removes it here and registers it there", async () => {
    const before = scene.emulator.requests.length;
    declareAt("empty");
    const { ok, output } = await stack.up({ replace: [urnOf("acme")] });
    expect(ok, output).toBe(true);
    expect(writesSince(scene, before)).toEqual(["delete-webhook acme", "set-webhook empty"]);
    expect(registeredWorkspaces(scene)).toEqual(["globex", "empty"]);
    expect(await stack.outputs()).toEqual({ acme: scene.emulator.workspace("empty").botUrl });
  });

  test("no secret is in the output or in the state", () => expectNoSecrets([stack]));
});

describe("a base URL with a query of its own", () => {
  let scene: Scene;
  let stack: TestStack;
  const ownQuery = `tenant=acme&token=${QUERY_VALUE}`;

  beforeAll(async () => {
    scene = await openScene([], { workspaces: [{ name: "acme", apiKey: API_KEY, baseUrlQuery: ownQuery }] });
    stack = await createStack(scene.backend, { program: declareWebhooks(scene, ["acme"]) });
  });
  afterAll(() => scene.close());

  test("keeps it in every call, and nothing prints its values", async () => {
    const up = await stack.up();
    expect(up.ok, up.output).toBe(true);
    const refresh = await stack.refresh({ expectNoChanges: true });
    expect(refresh.ok, refresh.output).toBe(true);
    await expectNoSecrets([stack]);
    const destroy = await stack.destroy();
    expect(destroy.ok, destroy.output).toBe(true);
    for (const action of ["get-webhook", "set-webhook", "delete-webhook"]) {
      const paths = callsOf(scene, action).map(({ path }) => path);
      expect(new Set(paths)).toEqual(new Set([`/acme/apichat?${ownQuery}&action=${action}`]));
    }
    expect(registeredWorkspaces(scene)).toEqual([]);
    await expectNoSecrets([stack]);
  });
});
