import { runtime, type Output } from "@pulumi/pulumi";
import { afterEach, expect, test, vi } from "vitest";
import { getApiChatWebhook, type GetApiChatWebhookResult } from "../../../provider/webhook/webhook.js";
import { API_KEY, VERIFICATION_KEY, isolateRuns, startAcme } from "./harness.js";

isolateRuns();

const NOWHERE = "http://127.0.0.1:9/";
// An empty string counts as missing.
afterEach(() => ["baseUrl", "apiKey"].forEach((name) => runtime.setConfig(`apichat:${name}`, "")));

/** Resolves an output as the engine does. */
interface Awaited {
  promise(): Promise<GetApiChatWebhookResult>;
  isSecret: Promise<boolean>;
}
const awaited = (output: Output<GetApiChatWebhookResult>): Awaited => output as unknown as Awaited;

test.each<[string, (baseUrl: string) => Parameters<typeof getApiChatWebhook>[0]]>([
  [
    "the arguments, which come first",
    (baseUrl) => {
      runtime.setConfig("apichat:baseUrl", NOWHERE);
      runtime.setConfig("apichat:apiKey", "a-wrong-key-0123456789");
      return { baseUrl, apiKey: API_KEY };
    },
  ],
  [
    "the configuration, which precedes the environment",
    (baseUrl) => {
      runtime.setConfig("apichat:baseUrl", baseUrl);
      runtime.setConfig("apichat:apiKey", API_KEY);
      vi.stubEnv("APICHAT_BASE_URL", NOWHERE).stubEnv("APICHAT_API_KEY", "a-wrong-key-0123456789");
      return { apiKey: "" };
    },
  ],
])("reads a registration with %s", async (_, give) => {
  const { acme, args } = await startAcme();
  const output = getApiChatWebhook(give(args.baseUrl));
  expect(await awaited(output).promise()).toEqual({ webhookUrl: "", status: "", botUrl: "" });
  expect(await awaited(output).isSecret).toBe(false);
  const webhook_url = "https://chat.example/hook?token=query-value";
  acme.takeOver({ webhook_url, webhook_verification_key: VERIFICATION_KEY });
  expect(await awaited(getApiChatWebhook(give(args.baseUrl))).promise()).toEqual({
    webhookUrl: "https://chat.example/hook?token=***",
    status: "verified",
    botUrl: acme.botUrl,
  });
});
