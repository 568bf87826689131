import { readdir, readFile } from "node:fs/promises";
import type { RequestListener } from "node:http";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import type { CustomResourceOptions } from "@pulumi/pulumi";
import { ApiChatWebhook, VerificationKey, type VerificationKeyArgs } from "pulumi-apichat";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Echo } from "../support/echo.ts";
import { VERIFICATION_KEY } from "../support/endpoint.ts";
import { argsOf, expectNoSecrets, openScene, writesSince, type Scene } from "../support/scene.ts";
import { findSecrets } from "../support/secrets.ts";
import {
  createBackend,
  createStack,
  requireSuccess,
  type Backend,
  type TestStack,
} from "../support/stack.ts";
import { findResource } from "../support/state.ts";

interface Keys {
  current: string;
  keys: string[];
}

const LIVE_KEY = 'vk/live+test=&<secret>"ü"-0123456789';

describe("two keys of one stack", () => {
  let backend: Backend;
  let stack: TestStack;
  const held = new Set([LIVE_KEY, VERIFICATION_KEY]);

  /** Each key has a resource that takes the current one. */
  const declare = (
    acme: VerificationKeyArgs,
    { name = "acme", options = {} }: { name?: string; options?: CustomResourceOptions } = {},
  ): void =>
    stack.run(async () => {
      const keys = {
        acme: new VerificationKey(name, acme, options),
        globex: new VerificationKey("globex"),
      };
      const taken = new Echo("taken", keys.acme.current);
      const { current, keys: list } = keys.acme;
      return { current, keys: list, other: keys.globex.current, taken: taken.value };
    });

  const readKeys = async (): Promise<Keys> => {
    const { current, keys, other, taken } = (await stack.outputs()) as unknown as Keys &
      Record<string, string>;
    expect([taken, keys[0]]).toEqual([current, current]);
    for (const key of [...keys, String(other)]) held.add(key);
    return { current, keys };
  };

  /** An `up` with these arguments: what it changed, and the keys before and after. */
  const up = async (
    args: VerificationKeyArgs,
    given?: Parameters<typeof declare>[1],
  ): Promise<{ before: Keys; after: Keys; changes: Record<string, number>; output: string }> => {
    const before = await readKeys();
    declare(args, given);
    const { changes, output } = requireSuccess(await stack.up());
    return { before, after: await readKeys(), changes, output };
  };

  beforeAll(async () => {
    backend = await createBackend();
    stack = await createStack(backend, { program: async () => ({}) });
    declare({});
    expect(requireSuccess(await stack.up()).changes).toEqual({ create: 4 });
  });
  afterAll(() => backend.remove());

  test("are made, differ, and are secret in the outputs and in the state", async () => {
    const { current, keys } = await readKeys();
    expect(current).toMatch(/^[\w-]{43}$/);
    expect(keys).toEqual([current]);
    const outputs = await stack.stack.outputs();
    expect(outputs["other"]?.value).not.toBe(current);
    for (const name of ["current", "keys", "other", "taken"]) {
      expect(outputs[name]).toMatchObject({ secret: true });
    }
    const resource = await findResource(stack, "acme", "VerificationKey");
    expect(resource?.outputs).toMatchObject({
      current: { ciphertext: expect.any(String) as string },
      keys: { ciphertext: expect.any(String) as string },
      stateVersion: 1,
    });
  });

  test("stay as they are in a second up, a preview and a refresh", async () => {
    const { before, after, changes } = await up({});
    expect(changes).toEqual({ same: 4 });
    expect(after).toEqual(before);
    requireSuccess(await stack.preview({ expectNoChanges: true }));
    requireSuccess(await stack.refresh({ expectNoChanges: true }));
    expect(await readKeys()).toEqual(before);
  });

  test("a preview of a rotation shows the change of one key and of what takes it, and makes none", async () => {
    const before = await readKeys();
    declare({ rotation: "1" });
    const { output, changes } = requireSuccess(await stack.preview({ diff: true }));
    expect(changes).toEqual({ update: 2, same: 2 });
    expect(output).toMatch(/\+ rotation: "1"/);
    expect(output).toContain("acme: a new key becomes the current one");
    expect(await readKeys()).toEqual(before);
  });

  test("a first and a second value of rotation make a new key each, and the earlier ones stay", async () => {
    const first = await up({ rotation: "1" });
    expect(first.changes).toEqual({ update: 2, same: 2 });
    expect(first.after.keys).toEqual([first.after.current, first.before.current]);
    const second = await up({ rotation: "2" });
    expect(second.after.keys).toEqual([second.after.current, ...first.after.keys]);
    requireSuccess(await stack.refresh({ expectNoChanges: true }));
    expect((await up({ rotation: "2" })).changes).toEqual({ same: 4 });
  });

  test("what does not change the list of keys is no change of anything", async () => {
    for (const args of [{}, { rotation: "2", keep: 5 }, { rotation: "2", keep: 5, bytes: 32 }]) {
      declare(args);
      const { output } = requireSuccess(await stack.preview({ expectNoChanges: true }));
      expect(output).not.toContain("acme: ");
      const { changes, before, after } = await up(args);
      expect(changes).toEqual({ same: 4 });
      expect(after).toEqual(before);
      requireSuccess(await stack.refresh({ expectNoChanges: true }));
    }
  });

  test("keep that was changed without an update counts at the next rotation", async () => {
    await up({ rotation: "3", keep: 5 });
    const { after } = await up({ rotation: "4", keep: 5 });
    expect(after.keys).toHaveLength(5);
  });

  test("keep: 0 drops the earlier ones, and what takes the current one does not change", async () => {
    const { before, after, changes, output } = await up({ rotation: "4", keep: 0 });
    expect(changes).toEqual({ update: 1, same: 3 });
    expect(after).toEqual({ current: before.current, keys: [before.current] });
    expect(output).toContain("acme: 4 of the earlier keys are dropped");
  });

  test("a change of bytes rotates", async () => {
    const { before, after } = await up({ rotation: "4", bytes: 16 });
    expect(after.keys).toEqual([after.current, before.current]);
    expect(Buffer.from(after.current, "base64url")).toHaveLength(16);
  });

  test("an initial key given later becomes the current one, and taking it out does nothing", async () => {
    const { before, after } = await up({ rotation: "4", bytes: 16, initial: LIVE_KEY });
    expect(after.keys).toEqual([LIVE_KEY, ...before.keys]);
    const resource = await findResource(stack, "acme", "VerificationKey");
    for (const values of [resource?.inputs, resource?.outputs]) {
      expect(values).toMatchObject({ initial: { ciphertext: expect.any(String) as string } });
    }
    expect((await up({ rotation: "4", bytes: 16 })).changes).toEqual({ same: 4 });
    expect((await up({ rotation: "4", bytes: 16, initial: LIVE_KEY })).changes).toEqual({ same: 4 });
  });

  test("a preview of a rotation does not take the initial key for the next one", async () => {
    declare({ rotation: "5", bytes: 16, initial: LIVE_KEY });
    expect(requireSuccess(await stack.preview()).changes).toEqual({ update: 2, same: 2 });
    const { after } = await up({ rotation: "5", bytes: 16, initial: LIVE_KEY });
    expect(after.keys.slice(0, 2)).toEqual([after.current, LIVE_KEY]);
  });

  test("a wrong initial key is refused without being shown", async () => {
    declare({ initial: `${VERIFICATION_KEY} ` });
    const { ok, output } = await stack.preview({ diff: true });
    expect(ok).toBe(false);
    expect(output).toContain("initial: must be without white space around it");
  });

  test("a rename with an alias keeps the keys", async () => {
    const { before, after, changes } = await up(
      { rotation: "5", bytes: 16, initial: LIVE_KEY },
      { name: "renamed", options: { aliases: [{ name: "acme" }] } },
    );
    expect(changes).toEqual({ same: 4 });
    expect(after).toEqual(before);
  });

  test("destroy removes them, protected ones excepted", async () => {
    await up(
      { rotation: "5", bytes: 16, initial: LIVE_KEY },
      { name: "renamed", options: { protect: true } },
    );
    expect((await stack.destroy()).ok).toBe(false);
    expect(await findResource(stack, "renamed", "VerificationKey")).toBeDefined();
    await up({ rotation: "5", bytes: 16, initial: LIVE_KEY }, { name: "renamed" });
    requireSuccess(await stack.destroy());
    expect(await findResource(stack, "renamed", "VerificationKey")).toBeUndefined();
  });

  test("no key was printed, and none is in any file of the backend in clear", async () => {
    expect(held.size).toBeGreaterThan(8);
    expect(findSecrets(stack.printed(), [...held])).toEqual([]);
    const folder = join(backend.folder, ".pulumi");
    const entries = await readdir(folder, { recursive: true, withFileTypes: true });
    const files = entries.filter((entry) => entry.isFile());
    expect(files.length).toBeGreaterThan(3);
    for (const { parentPath, name } of files) {
      const found = findSecrets(await readFile(join(parentPath, name), "utf8"), [...held]);
      expect({ name, found }).toEqual({ name, found: [] });
    }
  });
});

describe("a webhook that takes the current key", () => {
  let scene: Scene;
  let stack: TestStack;

  /** Without arguments, the webhook has the key of the tests. */
  const declare = (args?: VerificationKeyArgs): void =>
    stack.run(async () => {
      const key = args && new VerificationKey("acme", args);
      const webhookVerificationKey = key?.current ?? VERIFICATION_KEY;
      const webhook = new ApiChatWebhook(
        "acme",
        argsOf(scene, { workspace: "acme", args: { webhookVerificationKey } }),
      );
      const sender = new Echo("sender", webhook.botUrl);
      return { keys: key?.keys, sender: sender.value };
    });

  const registeredKey = (): string | undefined =>
    scene.emulator.workspace("acme").registration?.webhook_verification_key;

  beforeAll(async () => {
    scene = await openScene(["acme"]);
    scene.endpoint.answerWith(acceptEveryKey);
    stack = await createStack(scene.backend, { program: async () => ({}) });
    declare();
    requireSuccess(await stack.up());
    expect(registeredKey()).toBe(VERIFICATION_KEY);
  });
  afterAll(() => scene.close());

  test("and was declared with the live one is not changed by its adoption, nor shown as changed", async () => {
    const before = scene.emulator.requests.length;
    declare({ initial: VERIFICATION_KEY });
    expect(requireSuccess(await stack.preview()).changes).toEqual({ create: 1, same: 3 });
    expect(requireSuccess(await stack.up()).changes).toEqual({ create: 1, same: 3 });
    expect(await stack.outputs()).toMatchObject({ keys: [VERIFICATION_KEY] });
    expect(scene.emulator.requests.length).toBe(before);
    expect(requireSuccess(await stack.up()).changes).toEqual({ same: 4 });
  });

  test("follows a rotation, with one set-webhook under the same bot URL", async () => {
    const before = scene.emulator.requests.length;
    declare({ initial: VERIFICATION_KEY, rotation: "2026-12" });
    expect(requireSuccess(await stack.preview()).changes).toEqual({ update: 2, same: 2 });
    const { output, changes } = requireSuccess(await stack.up());
    expect(changes).toEqual({ update: 2, same: 2 });
    expect(output).toContain("acme: webhookVerificationKey changes");
    const { keys } = (await stack.outputs()) as { keys: string[] };
    expect(keys).toEqual([registeredKey(), VERIFICATION_KEY]);
    expect(registeredKey()).not.toBe(VERIFICATION_KEY);
    expect(writesSince(scene, before)).toEqual(["set-webhook acme"]);
    await expectNoSecrets([stack], keys);
  });

  test("is not set again when the earlier keys are dropped", async () => {
    const before = scene.emulator.requests.length;
    declare({ rotation: "2026-12", keep: 0 });
    expect(requireSuccess(await stack.up()).changes).toEqual({ update: 1, same: 3 });
    expect(await stack.outputs()).toMatchObject({ keys: [registeredKey()] });
    expect(writesSince(scene, before)).toEqual([]);
  });
});

/** An endpoint that does not know the keys: it answers every handshake. */
const acceptEveryKey: RequestListener = (request, response) => {
  const answer = async (): Promise<void> => {
    response.end(new URLSearchParams(await text(request)).get("hub_challenge"));
  };
  answer().catch((error: unknown) => response.destroy(error instanceof Error ? error : undefined));
};
