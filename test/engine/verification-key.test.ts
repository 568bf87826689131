import type { RequestListener } from "node:http";
import { text } from "node:stream/consumers";
import type { CustomResourceOptions } from "@pulumi/pulumi";
import { ApiChatWebhook, VerificationKey, type VerificationKeyArgs } from "pulumi-apichat";
import { beforeAll, describe, expect, test } from "vitest";
import { DERIVED, SEED } from "../support/derived-keys.ts";
import { Echo } from "../support/echo.ts";
import { VERIFICATION_KEY } from "../support/endpoint.ts";
import { argsOf, expectCleanBackend, openScene, writesSince, type Scene } from "../support/scene.ts";
import { findSecrets } from "../support/secrets.ts";
import { createStack, type Outcome, type TestStack } from "../support/stack.ts";

/** An endpoint that does not know the keys: it answers every handshake. */
const acceptEveryKey: RequestListener = (request, response) =>
  void text(request).then((body) => response.end(new URLSearchParams(body).get("hub_challenge")));

describe("a webhook that takes the current key", () => {
  let scene: Scene;
  let stack: TestStack;
  /** Every key that there was. */
  const held = new Set([VERIFICATION_KEY]);

  /** A resource depends on the webhook's bot URL. */
  const declare = (
    args: VerificationKeyArgs,
    options: CustomResourceOptions & { name?: string } = {},
  ): void =>
    stack.run(async () => {
      const { name = "acme", ...rest } = options;
      const key = new VerificationKey(name, args, rest);
      const declared = { workspace: "acme", args: { webhookVerificationKey: key.current } };
      const webhook = new ApiChatWebhook("acme", argsOf(scene, declared));
      void new Echo("sender", webhook.botUrl);
      return { current: key.current, keys: key.keys, other: new VerificationKey("globex").current };
    });

  const up = async (...declared: Parameters<typeof declare>): Promise<Outcome & { keys: string[] }> => {
    declare(...declared);
    const outcome = await stack.up();
    const { current, keys, other } = (await stack.secretOutputs()) as {
      current: string;
      keys: string[];
      other: string;
    };
    expect(keys[0]).toBe(current);
    expect(other).toMatch(/^[\w-]{43}$/);
    expect(other).not.toBe(current);
    for (const one of [...keys, other]) held.add(one);
    return { ...outcome, keys };
  };

  const registeredKey = (): string =>
    scene.emulator.workspace("acme").registration?.webhook_verification_key ?? "";
  const requestCount = (): number => scene.emulator.requests.length;

  beforeAll(async () => {
    scene = await openScene(["acme"]);
    scene.endpoint.answerWith(acceptEveryKey);
    stack = await createStack(scene.backend, { program: async () => ({}) });
  });

  test("takes a key over; keys are secret in the outputs and in the state, and differ", async () => {
    const { keys } = await up({ initial: VERIFICATION_KEY });
    expect(keys).toEqual([VERIFICATION_KEY]);
    expect(registeredKey()).toBe(VERIFICATION_KEY);
    const encrypted = expect.objectContaining({ ciphertext: expect.any(String) as string }) as unknown;
    expect(await stack.outputs()).toEqual({ current: encrypted, keys: encrypted, other: encrypted });
    const resource = await stack.resource("acme", "VerificationKey");
    expect(resource?.inputs).toMatchObject({ initial: encrypted });
    expect(resource?.outputs).toMatchObject({ current: encrypted, keys: encrypted, initial: encrypted });
  });

  test("follows a rotation, with one set-webhook under the same bot URL; a preview of it makes no key", async () => {
    const before = requestCount();
    declare({ initial: VERIFICATION_KEY, rotation: "1" });
    const preview = await stack.preview({ diff: true });
    expect(preview.changes).toEqual({ update: 2, same: 3 });
    expect(preview.output).toMatch(/\+ rotation: "1"/);
    const { changes, keys } = await up({ initial: VERIFICATION_KEY, rotation: "1" });
    expect(changes).toEqual({ update: 2, same: 3 });
    expect(keys).toEqual([registeredKey(), VERIFICATION_KEY]);
    expect(registeredKey()).not.toBe(VERIFICATION_KEY);
    expect(writesSince(scene, before)).toEqual(["set-webhook acme"]);
  });

  test("keeps its key under a new name with an alias; keep: 0 drops the earlier ones, and the webhook is not set again", async () => {
    const before = requestCount();
    const current = registeredKey();
    const aliases = [{ name: "acme" }];
    const { changes, keys } = await up({ rotation: "1", keep: 0 }, { name: "renamed", aliases });
    expect(changes).toEqual({ update: 1, same: 4 });
    expect(keys).toEqual([current]);
    expect(registeredKey()).toBe(current);
    expect(writesSince(scene, before)).toEqual([]);
  });

  test("becomes a derived one, with the random one behind it", async () => {
    held.add(SEED);
    const random = registeredKey();
    const derivation = { derivedFrom: SEED, subject: "acme", rotations: ["2026-12", "2026-09"] };
    const derived = DERIVED[0]?.[3] ?? [];
    const { changes, keys } = await up(derivation, { name: "renamed" });
    expect(changes).toEqual({ update: 2, same: 3 });
    expect(keys).toEqual([...derived, random]);
    expect(registeredKey()).toBe(derived[0]);
  });

  test("no key was printed, and none is in any file of the backend in clear", async () => {
    expect(held.size).toBeGreaterThan(2);
    expect(findSecrets(stack.printed(), [...held])).toEqual([]);
    await expectCleanBackend(scene.backend, [...held]);
  });
});
