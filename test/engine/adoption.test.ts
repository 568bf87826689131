import { removalCommand } from "../../dist/provider/errors/index.js";
import { startEmulator, type EmulatorOptions, type Workspace } from "pulumi-apichat/emulator";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { API_KEY, VERIFICATION_KEY } from "../support/endpoint.ts";
import {
  declareWebhooks,
  expectNoSecrets,
  openScene,
  webhookUrlOf,
  writesSince,
  type Declaration,
  type Scene,
} from "../support/scene.ts";
import { createStack, type TestStack } from "../support/stack.ts";

const FOREIGN_KEY = "the-key-of-somebody-else";
const foreign = {
  webhook_url: "https://somebody-else.example/hook",
  webhook_verification_key: FOREIGN_KEY,
  webhook_status: "verified",
};

const readings: NonNullable<EmulatorOptions["beforeFirstSet"]>[] = [
  "empty-strings",
  "null-fields",
  "nulls",
  "missing",
  "empty-array",
  "not-found",
];

/** One service for each way to answer for a workspace that never had a webhook; each with one such workspace. */
async function startNewServices(): Promise<{ workspaces: Workspace[]; close(): Promise<void> }> {
  const emulators = await Promise.all(
    readings.map((beforeFirstSet) =>
      startEmulator({ beforeFirstSet, workspaces: [{ name: `new-${beforeFirstSet}`, apiKey: API_KEY }] }),
    ),
  );
  return {
    workspaces: emulators.flatMap(({ workspaces }) => [...workspaces.values()]),
    close: async () => {
      await Promise.all(emulators.map((emulator) => emulator.close()));
    },
  };
}

describe("create looks first: it takes over on request only, and adopts what has its URL", () => {
  let scene: Scene;
  let stack: TestStack;
  let lost: TestStack;
  let services: Awaited<ReturnType<typeof startNewServices>>;

  /** Everything but the one that somebody else holds. */
  const declarations = (): Declaration[] => [
    { workspace: "equal" },
    { workspace: "other-key" },
    ...services.workspaces.map(({ name, baseUrl }) => ({ workspace: "equal", name, args: { baseUrl } })),
  ];

  beforeAll(async () => {
    scene = await openScene(["taken", "equal", "other-key"]);
    services = await startNewServices();
    const { emulator } = scene;
    emulator
      .workspace("taken")
      .takeOver({ webhook_url: foreign.webhook_url, webhook_verification_key: FOREIGN_KEY });
    for (const name of ["equal", "other-key"]) {
      emulator.workspace(name).takeOver({
        webhook_url: webhookUrlOf(scene, name),
        webhook_verification_key: name === "equal" ? VERIFICATION_KEY : FOREIGN_KEY,
      });
    }
    stack = await createStack(scene.backend, { program: declareWebhooks(scene, ["taken"]) });
  });
  afterAll(async () => {
    await services.close();
    await scene.close();
  });

  test("somebody else's registration is a conflict that names its URL, and nothing is written", async () => {
    const { ok, output } = await stack.up();
    expect(ok).toBe(false);
    expect(output).toContain(`has a webhook already, ${foreign.webhook_url}, and nothing was written`);
    expect(output).toContain(
      removalCommand({ baseUrl: scene.emulator.workspace("taken").baseUrl, webhookUrl: foreign.webhook_url }),
    );
    expect(writesSince(scene, 0)).toEqual([]);
    expect(scene.emulator.workspace("taken").registration).toMatchObject(foreign);
  });

  test('onExisting: "replace" takes it over; every reading of "never registered" is set; the same URL is adopted', async () => {
    const replace: Declaration = { workspace: "taken", args: { onExisting: "replace" } };
    stack.run(declareWebhooks(scene, [replace, ...declarations()]));
    const { ok, output } = await stack.up();
    expect(ok, output).toBe(true);
    expect(writesSince(scene, 0)).toEqual(["set-webhook other-key", "set-webhook taken"]);
    for (const name of ["taken", "equal", "other-key"]) {
      expect(scene.emulator.workspace(name).registration).toMatchObject({
        webhook_url: webhookUrlOf(scene, name),
        webhook_verification_key: VERIFICATION_KEY,
        webhook_status: "verified",
      });
    }
    expect(services.workspaces.map(({ registration }) => registration?.webhook_status)).toEqual(
      readings.map(() => "verified"),
    );
  });

  test("what is adopted with everything equal is not asked for a handshake, by us or by the service", () => {
    expect(scene.emulator.workspace("equal").handshakes).toEqual([]);
    const asked = scene.endpoint.requests.filter((request) => request.startsWith("POST /equal"));
    // The new workspaces have the same URL: the service's handshake and the two of the preflight for each.
    expect(asked).toHaveLength(readings.length * 3);
    expect(scene.emulator.workspace("other-key").handshakes).toMatchObject([{ verdict: "passed" }]);
  });

  test("a stack whose state is lost adopts all of it and writes nothing", async () => {
    const before = scene.emulator.requests.length;
    const handshakesBefore = scene.endpoint.requests.length;
    const program = declareWebhooks(scene, [{ workspace: "taken" }, ...declarations()]);
    lost = await createStack(scene.backend, { name: "lost", program });
    const { ok, output, changes } = await lost.up();
    expect(ok, output).toBe(true);
    expect(changes).toEqual({ create: 4 + readings.length });
    expect(writesSince(scene, before)).toEqual([]);
    expect(scene.endpoint.requests.length).toBe(handshakesBefore);
    expect(await lost.outputs()).toEqual(await stack.outputs());
  });

  test("no secret is in the output or in the state", () => expectNoSecrets([stack, lost], [FOREIGN_KEY]));
});
