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

const kinds = ["silent", "wrong", "refusing"] as const;
/** These are registered, and then their endpoint fails. */
const updated = kinds.map((kind) => `${kind}-update`);
/** The endpoint of these fails from the start. */
const created = kinds.map((kind) => `${kind}-create`);
const OTHER_KEY = "another-key-0123456789";
const BODY = "Hello, I am a web page";

const responder = toNodeListener(
  createResponder({ verificationKeys: VERIFICATION_KEY, onDelivery: () => {} }),
);
const answerOnPath: RequestListener = (request, response) =>
  request.url?.startsWith("/web-page") ? void response.end(BODY) : responder(request, response);

/** The lines of the diagnostics that the engine shows under a resource's name. */
function linesUnder(output: string, name: string): string[] {
  const [, block = ""] = new RegExp(`ApiChatWebhook \\(${name}\\):\\n((?: {4}.*\\n)+)`).exec(output) ?? [];
  return block.trimEnd().split("\n");
}

/** The part of a transcript that says what was wrong. */
const REASONS = { silent: "ECONNREFUSED", wrong: BODY, refusing: "HTTP 401" };

describe("an endpoint that fails the handshake never reaches the service", () => {
  let scene: Scene;
  let stack: TestStack;
  /** The arguments that make an endpoint fail. */
  let bad: Record<(typeof kinds)[number], Declaration["args"]>;

  beforeAll(async () => {
    scene = await openScene([...updated, ...created, "late"]);
    stack = await createStack(scene.backend, { program: declareWebhooks(scene, updated) });
    scene.endpoint.answerWith(answerOnPath);
    const timeouts = { readySeconds: 1 };
    bad = {
      silent: { timeouts, webhookUrl: `http://127.0.0.1:${await freePort()}/?token=${QUERY_VALUE}` },
      wrong: { webhookUrl: `${scene.endpoint.url}/web-page?token=${QUERY_VALUE}` },
      refusing: { timeouts, webhookVerificationKey: OTHER_KEY },
    };
    await stack.up();
  });

  test("create and update fail with a transcript, set-webhook is not called, registrations and state stay", async () => {
    const outputsOf = async (names: readonly string[]) =>
      Promise.all(
        names.map(async (name) => {
          const found = await stack.resource(name);
          return found && Object.keys(found.outputs);
        }),
      );
    const before = await outputsOf(updated);
    const declarations = kinds.flatMap((kind, place) =>
      [updated, created].map((names) => ({ workspace: names[place] ?? "", args: bad[kind] })),
    );
    stack.run(declareWebhooks(scene, declarations));
    const output = await stack.fails("up", { continueOnError: true });
    for (const kind of kinds) {
      for (const name of [`${kind}-update`, `${kind}-create`]) {
        const lines = linesUnder(output, name);
        expect(lines[0]).toMatch(new RegExp(`error: ${name}: .*http://127.0.0.1:.*token=\\*\\*\\*`));
        expect(lines.length).toBeGreaterThan(3);
        expect(lines.length).toBeLessThanOrEqual(12);
        expect(lines.join()).toContain(REASONS[kind]);
      }
    }
    expect(callsOf(scene, "set-webhook")).toHaveLength(updated.length);
    for (const name of updated) {
      expect(scene.emulator.workspace(name).registration).toMatchObject({
        webhook_url: webhookUrlOf(scene, name),
        webhook_verification_key: VERIFICATION_KEY,
        webhook_status: "verified",
      });
    }
    expect(await outputsOf(updated)).toEqual(before);
    expect(await outputsOf(created)).toEqual(created.map(() => undefined));
  });

  test("one that becomes ready in time is waited for, with a line that says so; the others need nothing", async () => {
    const port = await freePort();
    const webhookUrl = `http://127.0.0.1:${port}/late`;
    stack.run(declareWebhooks(scene, [...updated, { workspace: "late", args: { webhookUrl } }]));
    const up = stack.up();
    await expect.poll(() => stack.printed(), { timeout: 120_000 }).toMatch(/late: .*attempt \d/);
    await startEndpoint({ port });
    expect((await up).changes).toEqual({ create: 1, same: updated.length + 1 });
    expect(callsOf(scene, "set-webhook", "late")).toMatchObject([{ status: 200 }]);
    expect(registeredWorkspaces(scene)).toEqual([...updated, "late"]);
    await expectNoSecrets(stack, [OTHER_KEY]);
  });
});
