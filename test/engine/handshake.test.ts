import type { RequestListener } from "node:http";
import { createResponder } from "pulumi-apichat/responder";
import { toNodeListener } from "pulumi-apichat/responder/node";
import { beforeAll, describe, expect, test } from "vitest";
import { startEndpoint, VERIFICATION_KEY } from "../support/endpoint.ts";
import { freePort } from "../support/http.ts";
import {
  callsOf,
  declareWebhooks,
  expectNoSecrets,
  openScene,
  QUERY_VALUE,
  registeredWorkspaces,
  webhookUrlOf,
  type Declaration,
  type Scene,
} from "../support/scene.ts";
import { createStack, type TestStack } from "../support/stack.ts";

const names = ["silent", "wrong", "refusing"];
const OTHER_KEY = "another-key-0123456789";
const BODY = "Hello, I am a web page";

const responder = toNodeListener(
  createResponder({ verificationKeys: VERIFICATION_KEY, onDelivery: () => {} }),
);
const answerOnPath: RequestListener = (request, response) =>
  request.url?.startsWith("/next/wrong") ? void response.end(BODY) : responder(request, response);

/** The lines of the diagnostics that the engine shows under a resource's name. */
function linesUnder(output: string, name: string): string[] {
  const [, block = ""] = new RegExp(`ApiChatWebhook \\(${name}\\):\\n((?: {4}.*\\n)+)`).exec(output) ?? [];
  return block.trimEnd().split("\n");
}

const expectTranscripts = (output: string): void => {
  for (const name of names) {
    const lines = linesUnder(output, name);
    expect(lines[0]).toMatch(new RegExp(`error: ${name}: .*http://127.0.0.1:.*token=\\*\\*\\*`));
    expect(lines.length).toBeGreaterThan(3);
    expect(lines.length).toBeLessThanOrEqual(12);
  }
  expect(linesUnder(output, "silent").join()).toContain("ECONNREFUSED");
  expect(linesUnder(output, "wrong").join()).toContain(BODY);
  expect(linesUnder(output, "refusing").join()).toContain("HTTP 401");
};

describe("an endpoint that fails the handshake never reaches the service", () => {
  let scene: Scene;
  let stack: TestStack;
  let bad: Declaration[];

  beforeAll(async () => {
    scene = await openScene([...names, "late"]);
    stack = await createStack(scene.backend, { program: declareWebhooks(scene, names) });
    scene.endpoint.answerWith(answerOnPath);
    const quick = { timeouts: { readySeconds: 1 } };
    const silentUrl = `http://127.0.0.1:${await freePort()}/?token=${QUERY_VALUE}`;
    bad = [
      { workspace: "silent", args: { ...quick, webhookUrl: silentUrl } },
      { workspace: "wrong", args: { webhookUrl: `${scene.endpoint.url}/next/wrong?token=${QUERY_VALUE}` } },
      { workspace: "refusing", args: { ...quick, webhookVerificationKey: OTHER_KEY } },
    ];
  });

  test("on create it fails with a transcript, and set-webhook is not called", async () => {
    stack.run(declareWebhooks(scene, bad));
    expectTranscripts(await stack.fails("up", { continueOnError: true }));
    expect(callsOf(scene, "set-webhook")).toEqual([]);
    for (const name of names) expect(await stack.resource(name)).toBeUndefined();
  });

  test("on update the live registration and the state stay as they were", async () => {
    stack.run(declareWebhooks(scene, names));
    await stack.up();
    const resources = () => Promise.all(names.map((name) => stack.resource(name)));
    const before = await resources();
    const outputsOf = (found: typeof before) => found.map((resource) => Object.keys(resource?.outputs ?? {}));

    stack.run(declareWebhooks(scene, bad));
    expectTranscripts(await stack.fails("up", { continueOnError: true }));
    expect(callsOf(scene, "set-webhook")).toHaveLength(names.length);
    for (const name of names) {
      expect(scene.emulator.workspace(name).registration).toMatchObject({
        webhook_url: webhookUrlOf(scene, name),
        webhook_verification_key: VERIFICATION_KEY,
        webhook_status: "verified",
      });
    }
    expect(outputsOf(await resources())).toEqual(outputsOf(before));

    stack.run(declareWebhooks(scene, names));
    expect((await stack.up()).changes).toEqual({ same: names.length + 1 });
  });

  test("one that becomes ready in time is waited for, with a line that says so", async () => {
    const port = await freePort();
    const webhookUrl = `http://127.0.0.1:${port}/late`;
    stack.run(declareWebhooks(scene, [...names, { workspace: "late", args: { webhookUrl } }]));
    const up = stack.up();
    await expect.poll(() => stack.printed(), { timeout: 120_000 }).toMatch(/late: .*attempt \d/);
    await startEndpoint({ port });
    await up;
    expect(callsOf(scene, "set-webhook", "late")).toMatchObject([{ status: 200 }]);
    expect(registeredWorkspaces(scene)).toEqual([...names, "late"]);
    await expectNoSecrets(stack, [OTHER_KEY]);
  });
});
