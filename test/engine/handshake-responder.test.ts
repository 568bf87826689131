import { readFile, readdir } from "node:fs/promises";
import { join } from "node:path";
import { ApiChatWebhook, HandshakeResponder } from "pulumi-apichat";
import type { PulumiFn } from "@pulumi/pulumi/automation/index.js";
import { beforeAll, describe, expect, test } from "vitest";
import { API_KEY, VERIFICATION_KEY, startEndpoint, type Endpoint } from "../support/endpoint.ts";
import { endProcessesNaming, processesNaming } from "../../tools/lib/processes.ts";
import { deliverTo, environmentOf, respondersOn, responderEnvironment } from "../support/responder.ts";
import { callsOf, expectNoSecrets, openScene, type Scene } from "../support/scene.ts";
import { findSecrets } from "../support/secrets.ts";
import { createStack, type TestStack } from "../support/stack.ts";

const OTHER_KEY = "vk/other+test=&<secret>\"ü'-0123456789";
const FORWARD_TOKEN = "ft-token-0123456789";
const names = ["acme", "globex"] as const;

describe("a responder that pulumi up starts", () => {
  let scene: Scene;
  let stack: TestStack;
  let target: Endpoint;
  let dataDir: string;
  let started: { port: number; pid: number; dataDir: string; urls: Record<string, string> };

  /** Two workspaces with a webhook each; acme's deliveries are forwarded. */
  const program =
    (keys: string[], more: object = {}): PulumiFn =>
    async () => {
      const responder = new HandshakeResponder("chat", {
        workspaces: {
          acme: { verificationKeys: keys, forwardTo: `${target.url}/acme?token=${FORWARD_TOKEN}` },
          globex: { verificationKeys: VERIFICATION_KEY },
        },
        ...more,
      });
      const webhooks = names.map(
        (name) =>
          new ApiChatWebhook(name, {
            baseUrl: scene.emulator.workspace(name).baseUrl,
            apiKey: API_KEY,
            webhookUrl: responder.urls[name],
            webhookVerificationKey: name === "acme" ? (keys[0] ?? "") : VERIFICATION_KEY,
          }),
      );
      const { urls, port, pid } = responder;
      return { urls, port, pid, dataDir: responder.dataDir, statuses: webhooks.map(({ status }) => status) };
    };

  beforeAll(async () => {
    [scene, target] = await Promise.all([
      openScene(names),
      startEndpoint({ keys: [VERIFICATION_KEY, OTHER_KEY] }),
    ]);
    stack = await createStack(scene.backend, {
      program: program([VERIFICATION_KEY]),
      environment: responderEnvironment(scene.backend),
    });
  });
  const secrets = [OTHER_KEY, FORWARD_TOKEN];
  const outputsOf = async (): Promise<typeof started> => (await stack.outputs()) as typeof started;

  test("runs in the same up that verifies webhooks through it, and outlives that up", async () => {
    const { changes } = await stack.up();
    expect(changes).toEqual({ create: 5 });
    started = await outputsOf();
    ({ dataDir } = started);
    expect(dataDir).toMatch(/\/state\/pulumi-apichat\/test\/dev-[0-9a-f]{12}\/chat$/);
    expect(started.urls).toEqual({
      acme: `http://127.0.0.1:${started.port}/acme`,
      globex: `http://127.0.0.1:${started.port}/globex`,
    });
    for (const name of names) {
      expect(scene.emulator.workspace(name).registration).toMatchObject({
        webhook_url: started.urls[name],
        webhook_status: "verified",
      });
    }
    expect(await respondersOn(dataDir)).toEqual([started.pid]);
    const health = await fetch(`http://127.0.0.1:${started.port}/healthz`);
    expect(await health.json()).toEqual({ status: "ok" });
  });

  test("has no secret in its environment, command line, log, state and output", async () => {
    const environment = await environmentOf(started.pid);
    const allowed =
      /^(PATH|HOME|TZ|LANG|TMPDIR|https?_proxy|no_proxy|NODE_EXTRA_CA_CERTS|SSL_CERT_(FILE|DIR))$/i;
    expect(Object.keys(environment).filter((name) => !allowed.test(name))).toEqual([]);
    const [info] = await processesNaming(dataDir);
    const log = await readFile(join(dataDir, "responder.log"), "utf8");
    const shown = JSON.stringify([environment, info?.commandLine, log]);
    expect(findSecrets(shown, [VERIFICATION_KEY, ...secrets])).toEqual([]);
    await expectNoSecrets(stack, secrets);
    const { token } = JSON.parse(await readFile(join(dataDir, "instance.json"), "utf8")) as { token: string };
    expect(await stack.state()).not.toContain(token);
  });

  test("accepts a new key without a restart and without rejecting a delivery, before the webhook has it", async () => {
    stack.run(program([OTHER_KEY, VERIFICATION_KEY]));
    const url = started.urls["acme"] ?? "";
    const statuses: number[] = [];
    const upIsDone = new AbortController();
    const delivering = (async () => {
      while (!upIsDone.signal.aborted) statuses.push(await deliverTo(url, VERIFICATION_KEY));
    })();
    const { changes } = await stack.up();
    upIsDone.abort();
    await delivering;
    // The URLs stay known, so globex, whose key does not change, shows no change.
    expect(changes).toEqual({ same: 3, update: 2 });
    expect(statuses.length).toBeGreaterThan(0);
    expect(statuses.filter((status) => status !== 200)).toEqual([]);
    expect(await deliverTo(url, OTHER_KEY)).toBe(200);
    expect(scene.emulator.workspace("acme").registration?.webhook_verification_key).toBe(OTHER_KEY);
    expect(await outputsOf()).toMatchObject(started);
  });

  test("up with a refresh detects kill -9, and restarts it on the same port: no webhook changes", async () => {
    await endProcessesNaming(dataDir);
    const writes = callsOf(scene, "set-webhook").length;
    const { changes } = await stack.up({ refresh: true });
    expect(changes).toMatchObject({ create: 1, same: 4 });
    expect(callsOf(scene, "set-webhook")).toHaveLength(writes);
    const again = await outputsOf();
    expect(again.urls).toEqual(started.urls);
    expect(again.pid).not.toBe(started.pid);
    expect(await respondersOn(dataDir)).toEqual([again.pid]);
    expect(await deliverTo(again.urls["acme"] ?? "", VERIFICATION_KEY)).toBe(200);
  });

  test("destroy ends it, and keeps waiting deliveries, with a warning that counts them", async () => {
    expect(await deliverTo(started.urls["globex"] ?? "", VERIFICATION_KEY)).toBe(200);
    const { output } = await stack.destroy();
    expect(await respondersOn(scene.backend.folder)).toEqual([]);
    expect(output).toMatch(new RegExp(`chat: warning: 1 delivery .*${dataDir}`));
    const kept = await readdir(dataDir);
    expect(kept).toContain("spool.sqlite");
    expect(kept.filter((file) => !file.startsWith("spool.sqlite"))).toEqual(["owner.txt"]);
    await expectNoSecrets(stack, secrets);
  });
});
