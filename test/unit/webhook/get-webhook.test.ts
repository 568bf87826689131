import { runtime } from "@pulumi/pulumi";
import { afterEach, expect, test, vi } from "vitest";
import { getApiChatWebhook, type GetApiChatWebhookResult } from "../../../provider/webhook/webhook.js";
import { VERIFICATION_KEY, isolateRuns, startAcme } from "./harness.js";

isolateRuns();

afterEach(() => ["baseUrl", "apiKey"].forEach((name) => runtime.setConfig(`apichat:${name}`, "")));

/** The parts of an output that the engine uses to resolve it. */
interface Awaited {
  promise(): Promise<GetApiChatWebhookResult>;
  isSecret: Promise<boolean>;
}
const read = (...args: Parameters<typeof getApiChatWebhook>): Awaited =>
  getApiChatWebhook(...args) as unknown as Awaited;

test("the function uses its arguments first, then the configuration, then the environment", async () => {
  const { acme, args } = await startAcme();
  const { baseUrl, apiKey } = args;
  runtime.setConfig("apichat:baseUrl", "http://127.0.0.1:9/");
  runtime.setConfig("apichat:apiKey", "a-wrong-key-0123456789");
  const nothing = read({ baseUrl, apiKey });
  expect(await nothing.promise()).toEqual({ webhookUrl: "", status: "", botUrl: "" });
  expect(await nothing.isSecret).toBe(false);

  vi.stubEnv("APICHAT_BASE_URL", "http://127.0.0.1:9/").stubEnv("APICHAT_API_KEY", "a-wrong-key-0123456789");
  runtime.setConfig("apichat:baseUrl", baseUrl);
  runtime.setConfig("apichat:apiKey", apiKey);
  const webhook_url = "https://chat.example/hook?token=query-value";
  acme.takeOver({ webhook_url, webhook_verification_key: VERIFICATION_KEY });
  expect(await read({ apiKey: "" }).promise()).toEqual({
    webhookUrl: "https://chat.example/hook?token=***",
    status: "verified",
    botUrl: acme.botUrl,
  });
});
