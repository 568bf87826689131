import { describe, expect, it } from "vitest";
import { RegistrationClient } from "../../../provider/client/registration-client.ts";
import type { Failure as ErrorData } from "../../../provider/errors/index.ts";
import { toFailure } from "../../../provider/fleet/failure-texts.ts";
import { toHinted } from "../../../provider/fleet/repair.ts";
import type { WebhookState } from "../../../provider/webhook/contract.ts";
import { requireSameWorkspace } from "../../../provider/webhook/observe.ts";
import { failureOf, startServer } from "../client/harness.ts";
import { freePort } from "../../support/http.ts";

/** How the real client fails when it reads a workspace there. */
async function lookAt(origin: string, requestSeconds = 2): Promise<ErrorData> {
  const baseUrl = `${origin}/acme/apichat`;
  const client = new RegistrationClient({ baseUrl, apiKey: "api-key-of-acme", requestSeconds });
  return (await failureOf(client.getWebhook())).toJSON();
}

const hintOf = (error: ErrorData): string =>
  toHinted(toFailure(error, { workspace: "acme", stack: "production-0-of-4" }), "node prod.ts").repair;

describe("what to do about a failure of a watch", () => {
  it.each([
    [401, "APICHAT_API_KEY"],
    [403, "APICHAT_API_KEY"],
    [404, "fix what the message says"],
    [429, "node prod.ts watch --calls-per-origin 2"],
    [500, "when it is up"],
  ])("follows from the client's failure of an HTTP %i", async (status, hint) => {
    const { origin } = await startServer((_, response) => void response.writeHead(status).end());
    expect(hintOf(await lookAt(origin))).toContain(hint);
  });

  it("follows from the client's failure of a service that does not answer", async () => {
    const { origin } = await startServer(() => {});
    expect(hintOf(await lookAt(origin, 0.3))).toContain("when it is up");
  });

  it("follows from the client's failure of a service that is not there", async () => {
    expect(hintOf(await lookAt(`http://127.0.0.1:${await freePort()}`))).toContain("when it is up");
  });

  it("follows from the provider's failure of a workspace that has become another", async () => {
    const botUrl = "https://bots.example/api/apichat/f1";
    const seen = {
      webhookUrl: "https://chat.example/",
      webhookVerificationKey: "key",
      status: "verified",
      botUrl: `${botUrl}2`,
    };
    const state = { applied: { botUrl } } as WebhookState;
    const at = { baseUrl: "https://platform.example/acme/apichat", operation: "get-webhook" } as const;
    const look = async (): Promise<void> => requireSameWorkspace({ seen, apiKey: "key" }, state, at);
    expect(hintOf((await failureOf(look())).toJSON())).toContain("fix baseUrl or API key");
  });
});
