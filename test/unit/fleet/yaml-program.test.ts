import { expect, test } from "vitest";
import type { WebhookArguments } from "../../../provider/fleet/definition.ts";
import { toYaml } from "../../../provider/fleet/yaml-program.ts";

const SEED = "c2VlZC1vZi10aGUtdGVzdHMtMDEyMzQ1Njc4OTAxMjM0NQ==";
const baseUrl = "https://platform.example/acme/apichat";
const webhookUrl = "https://chat.example/acme";
const withKey = (webhookVerificationKey: WebhookArguments["webhookVerificationKey"]): WebhookArguments => ({
  baseUrl,
  webhookUrl,
  webhookVerificationKey,
});

const keyOf = (name: string) => ({
  type: "apichat:VerificationKey",
  name,
  properties: { derivedFrom: "${secret0}", rotations: ["r2", "r1"] },
});
const webhookOf = (name: string, properties: object) => ({
  type: "apichat:ApiChatWebhook",
  name,
  properties: { baseUrl, webhookUrl, ...properties },
});
const hidden = (value: unknown) => ({ "fn::secret": value });

test("a workspace becomes a webhook and its key, and each secret becomes a variable", () => {
  const derived = { derivedFrom: SEED, rotations: ["r2", "r1"] };
  const program = toYaml(
    Object.entries({
      "acme.1": { ...withKey(derived), apiKey: "key-${of}-acme", webhookUrl: `${webhookUrl}?token=t` },
      globex: { ...withKey(derived), onExisting: "replace" as const, timeouts: { readySeconds: 1 } },
      initech: withKey("a-key-of-its-own"),
    }),
  );
  expect(program).toEqual({
    variables: {
      secret0: hidden([SEED]),
      secret1: hidden(`${webhookUrl}?token=t`),
      secret2: hidden("key-$${of}-acme"),
      secret3: hidden("a-key-of-its-own"),
    },
    resources: {
      key0: keyOf("acme.1"),
      webhook0: webhookOf("acme.1", {
        apiKey: "${secret2}",
        webhookUrl: "${secret1}",
        webhookVerificationKey: "${key0.current}",
      }),
      key1: keyOf("globex"),
      webhook1: webhookOf("globex", {
        onExisting: "replace",
        timeouts: { readySeconds: 1 },
        webhookVerificationKey: "${key1.current}",
      }),
      webhook2: webhookOf("initech", { webhookVerificationKey: "${secret3}" }),
    },
    outputs: {
      botUrls: {
        "acme.1": "${webhook0.botUrl}",
        globex: "${webhook1.botUrl}",
        initech: "${webhook2.botUrl}",
      },
    },
  });
});

test("a rotation applies only to random keys", () => {
  const derived = { derivedFrom: SEED, rotations: ["r1"] };
  const webhooks = Object.entries({ acme: withKey({ keep: 1 }), globex: withKey(derived) });
  const { resources } = toYaml(webhooks, "2026-12");
  expect(resources).toMatchObject({
    key0: { properties: { keep: 1, rotation: "2026-12" } },
    key1: { properties: { rotations: ["r1"] } },
  });
  expect(JSON.stringify(resources["key1"])).not.toContain("2026-12");
});
