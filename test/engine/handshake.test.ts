import { setTimeout as sleep } from "node:timers/promises";
import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import { createResponder } from "pulumi-apichat/responder";
import { toNodeListener } from "pulumi-apichat/responder/node";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startEndpoint, VERIFICATION_KEY, type Endpoint } from "../support/endpoint.ts";
import { freePort } from "../support/http.ts";
import {
  callsOf,
  declareWebhooks,
  findLeaks,
  openScene,
  QUERY_VALUE,
  registeredWorkspaces,
  webhookUrlOf,
  type Declaration,
  type Scene,
} from "../support/scene.ts";
import { createStack, requireSuccess, type TestStack } from "../support/stack.ts";

const responder = toNodeListener(
  createResponder({ verificationKeys: VERIFICATION_KEY, onDelivery: () => {} }),
);

const quick = { timeouts: { readySeconds: 1 } };

/** Answers every POST with a body that is no challenge. */
const wrongChallenge: RequestListener = (_request, response) => void response.end("Hello, I am a web page");

/** Answers as the given listener on this path, and as the responder elsewhere. */
function onPath(path: string, listener: RequestListener): RequestListener {
  return (request: IncomingMessage, response: ServerResponse) =>
    request.url?.startsWith(path) ? listener(request, response) : responder(request, response);
}

/** Takes turns: the first `count` requests go to one listener, all others to the other. */
function firstRequests(count: number, first: RequestListener, then: RequestListener): RequestListener {
  let left = count;
  return (request, response) => (left-- > 0 ? first : then)(request, response);
}

/** How many requests one round of a preflight makes: form and JSON; if neither passes, multipart and the query. */
const PREFLIGHT_REQUESTS = { passing: 2, failing: 4 };

const refuse: RequestListener = (_request, response) => void response.writeHead(500).end("out of order");

const expectTranscripts = (output: string): void => {
  expect(output).toMatch(
    /silent: the handshake with http:\/\/127\.0\.0\.1:\d+\/\?token=\*\*\* failed: .*ECONNREFUSED/,
  );
  expect(output).toContain("Start the endpoint and check host, port and firewall");
  expect(output).toMatch(
    /wrong: the handshake with \S+\/next\/wrong\?token=\*\*\* failed: .*"Hello, I am a web page"/,
  );
  expect(output).toContain("Answer with the value of hub_challenge as the whole body");
  expect(output).toMatch(/refusing: the handshake with \S+ failed: form: HTTP 401/);
  expect(output).toContain("Give the endpoint the same verification key");
  expect(output).toContain("address: 127.0.0.1");
  expect(output).toMatch(
    /^ +form, json, multipart, query: HTTP 200, body "Hello, I am a web page", \d+, \d+, \d+, \d+ ms$/m,
  );
  expect(output).toMatch(/attempts: [2-9]\d*/);
};

/** The lines of the diagnostics that the engine shows under a resource's name. */
function linesUnder(output: string, name: string): string[] {
  const [, block = ""] = new RegExp(`ApiChatWebhook \\(${name}\\):\\n((?: {4}.*\\n)+)`).exec(output) ?? [];
  return block.trimEnd().split("\n");
}

describe("an endpoint that fails the handshake never reaches the service", () => {
  const names = ["silent", "wrong", "refusing"];
  let scene: Scene;
  let stack: TestStack;
  let bad: Declaration[];

  beforeAll(async () => {
    scene = await openScene(names);
    stack = await createStack(scene.backend, { program: declareWebhooks(scene, names) });
    const port = await freePort();
    scene.endpoint.answerWith(onPath("/next/wrong", wrongChallenge));
    bad = [
      {
        workspace: "silent",
        args: { ...quick, webhookUrl: `http://127.0.0.1:${port}/?token=${QUERY_VALUE}` },
      },
      { workspace: "wrong", args: { webhookUrl: `${scene.endpoint.url}/next/wrong?token=${QUERY_VALUE}` } },
      { workspace: "refusing", args: { ...quick, webhookVerificationKey: "another-key-0123456789" } },
    ];
  });
  afterAll(() => scene.close());

  test("on create it fails with a transcript, and set-webhook is not called", async () => {
    stack.run(declareWebhooks(scene, bad));
    const { ok, output } = await stack.up({ continueOnError: true });
    expect(ok).toBe(false);
    expectTranscripts(output);
    for (const name of names) {
      const lines = linesUnder(output, name);
      expect(lines[0]).toContain(`error: ${name}: the handshake with `);
      expect(lines[0]).toContain("set-webhook was not called");
      expect(lines.length).toBeLessThanOrEqual(12);
    }
    expect(callsOf(scene, "set-webhook")).toEqual([]);
    expect(registeredWorkspaces(scene)).toEqual([]);
    expect(await stack.exportedState()).not.toContain("ApiChatWebhook::");
  });

  test("on update the live registration and the state stay as they were", async () => {
    stack.run(declareWebhooks(scene, names));
    expect(await stack.up()).toMatchObject({ ok: true, changes: { create: names.length } });
    const stateBefore = await resourcesOf(stack);

    stack.run(declareWebhooks(scene, bad));
    const { ok, output } = await stack.up({ continueOnError: true });
    expect(ok).toBe(false);
    expectTranscripts(output);
    expect(callsOf(scene, "set-webhook")).toHaveLength(names.length);
    for (const name of names) {
      const { registration } = scene.emulator.workspace(name);
      expect(registration).toMatchObject({
        webhook_url: webhookUrlOf(scene, name),
        webhook_verification_key: VERIFICATION_KEY,
        webhook_status: "verified",
      });
    }
    expect(await resourcesOf(stack)).toEqual(stateBefore);

    stack.run(declareWebhooks(scene, names));
    expect(await stack.up()).toMatchObject({ ok: true, changes: { same: names.length + 1 } });
  });

  test("and no secret is printed or in the state", async () => {
    expect(await findLeaks([stack], ["another-key-0123456789"])).toEqual([]);
  });
});

describe("an endpoint that is late, or only the service's to reach", () => {
  let scene: Scene;
  let stack: TestStack;
  let late: Endpoint | undefined;

  beforeAll(async () => {
    scene = await openScene(["late", "warned", "unchecked"]);
    stack = await createStack(scene.backend, { program: declareWebhooks(scene, []) });
  });
  afterAll(async () => {
    await late?.close();
    await scene.close();
  });

  test("one that becomes ready after some seconds is waited for", async () => {
    const port = await freePort();
    stack.run(
      declareWebhooks(scene, [{ workspace: "late", args: { webhookUrl: `http://127.0.0.1:${port}/late` } }]),
    );
    const up = stack.up();
    await expect.poll(() => callsOf(scene, "get-webhook", "late")).toHaveLength(1);
    // Longer than what passes without a line.
    await sleep(4_000);
    late = await startEndpoint({ port });
    const { output } = requireSuccess(await up);
    expect(output).toMatch(
      /late: waiting for http:\/\/127\.0\.0\.1:\d+\/late to answer the handshake, attempt \d; so far .*ECONNREFUSED.*; \d s left/,
    );
    expect(callsOf(scene, "set-webhook", "late")).toMatchObject([{ status: 200 }]);
  });

  test('under "warn" a failed preflight is only said; under "off" it is not made', async () => {
    scene.endpoint.answerWith(
      onPath("/warned", firstRequests(PREFLIGHT_REQUESTS.failing, wrongChallenge, responder)),
    );
    scene.endpoint.requests.length = 0;
    stack.run(
      declareWebhooks(scene, [
        { workspace: "warned", args: { preflight: "warn" } },
        { workspace: "unchecked", args: { preflight: "off" } },
      ]),
    );
    const { output } = requireSuccess(await stack.up());
    expect(output).toMatch(/warned: warning: the handshake with \S+ failed/);
    const asked = (path: string): string[] =>
      scene.endpoint.requests.filter((request) => request.startsWith(`POST ${path}`));
    expect(asked("/warned")).toHaveLength(PREFLIGHT_REQUESTS.failing + 1);
    expect(asked("/unchecked")).toHaveLength(1);
    expect(registeredWorkspaces(scene)).toEqual(["warned", "unchecked"]);
  });

  test("and no secret is printed or in the state", async () => {
    expect(await findLeaks([stack])).toEqual([]);
  });
});

describe("a service whose own handshake fails for good, although the preflight passed", () => {
  let scene: Scene;
  let stack: TestStack;
  let next: Declaration[];

  beforeAll(async () => {
    scene = await openScene(["acme", "fresh"], { failedHandshake: "clears" });
    stack = await createStack(scene.backend, { program: declareWebhooks(scene, ["acme"]) });
    requireSuccess(await stack.up());
    const nextArgs = { ...quick, webhookUrl: `${scene.endpoint.url}/next/acme?token=${QUERY_VALUE}` };
    next = [{ workspace: "acme", args: nextArgs }];
  });
  afterAll(() => scene.close());

  test("what stood there before stands there again, and the error says so", async () => {
    scene.endpoint.answerWith(onPath("/next", firstRequests(PREFLIGHT_REQUESTS.passing, responder, refuse)));
    stack.run(declareWebhooks(scene, next));
    const { ok, output } = await stack.up();
    expect(ok).toBe(false);
    expect(output).toMatch(
      /acme: .*the service refused the webhook \d+ times, although the preflight passed\./,
    );
    expect(output).toMatch(/Put back: \S+\/acme\?token=\*\*\*, status "verified"/);
    expect(scene.emulator.workspace("acme").registration).toMatchObject({
      webhook_url: webhookUrlOf(scene, "acme"),
      webhook_verification_key: VERIFICATION_KEY,
      webhook_status: "verified",
    });
  });

  test("where nothing stood, nothing stands and nothing is recorded", async () => {
    scene.endpoint.answerWith(onPath("/fresh", firstRequests(PREFLIGHT_REQUESTS.passing, responder, refuse)));
    stack.run(declareWebhooks(scene, ["acme", { workspace: "fresh", args: quick }]));
    const { ok, output } = await stack.up();
    expect(ok).toBe(false);
    expect(output).toContain("Registered now: nothing");
    expect(registeredWorkspaces(scene)).toEqual(["acme"]);
    expect(await stack.exportedState()).not.toContain("ApiChatWebhook::fresh");
  });

  test("the next up succeeds once the service accepts", async () => {
    scene.endpoint.answerWith(responder);
    stack.run(declareWebhooks(scene, [...next, "fresh"]));
    expect(await stack.up()).toMatchObject({ ok: true, changes: { update: 1, create: 1 } });
    expect(registeredWorkspaces(scene)).toEqual(["acme", "fresh"]);
    expect(await findLeaks([stack])).toEqual([]);
    requireSuccess(await stack.destroy());
    expect(registeredWorkspaces(scene)).toEqual([]);
  });
});

/** The resources of the state, secrets in clear, without what each command writes anew. */
async function resourcesOf({ stack }: TestStack): Promise<unknown> {
  const { deployment } = (await stack.exportStack()) as {
    deployment: { resources: Record<string, unknown>[] };
  };
  return deployment.resources.map(({ urn, id, outputs }) => ({ urn, id, outputs }));
}
