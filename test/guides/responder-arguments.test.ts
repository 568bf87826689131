import { join } from "node:path";
import * as pulumi from "@pulumi/pulumi";
import { HandshakeResponder, type HandshakeResponderArgs } from "pulumi-apichat";
import { beforeAll, describe, expect, test } from "vitest";
import { DERIVED, OTHER_SEED, SEED } from "../support/derived-keys.ts";
import { VERIFICATION_KEY } from "../support/endpoint.ts";
import { freePort } from "../support/http.ts";
import { pluginFolder, PluginResponder } from "../support/plugin.ts";
import { deliverTo, responderEnvironment } from "../support/responder.ts";
import { createBackend, createStack, type TestStack } from "../support/stack.ts";

const FORWARD_TO = "http://127.0.0.1:9/messages";
const SECRET_PATH = "/secret-path-0123456789";
const SECRET_HOST = "secret-host-0123456789.example";
const rotations = ["2026-12", "2026-09"];
const [latest = ""] = DERIVED[0]?.[3] ?? [];
const ofTwoSeeds = DERIVED[1]?.[3] ?? [];

/** An argument that resolves to undefined, as `config.getSecret` does. */
const absent = (): pulumi.Output<never> => pulumi.secret(undefined) as unknown as pulumi.Output<never>;

interface Case {
  args: HandshakeResponderArgs;
  /** The URLs that follow from the arguments, with the keys that each accepts. */
  urls: Record<string, { path?: string; url?: string; keys: string[] }>;
}

const acme = { verificationKeys: VERIFICATION_KEY };

/** Every argument of docs/operate/responder.md, with and without each optional one. */
const casesIn = (folder: string, port: number): Record<string, Case> => ({
  workspaces: {
    args: {
      workspaces: {
        acme,
        globex: { verificationKeys: [VERIFICATION_KEY, latest], path: "/g", forwardTo: FORWARD_TO },
        initech: { verificationKeys: [latest], path: "/" },
      },
    },
    urls: {
      acme: { path: "/acme", keys: [VERIFICATION_KEY] },
      globex: { path: "/g", keys: [VERIFICATION_KEY, latest] },
      initech: { path: "/", keys: [latest] },
    },
  },
  derived: {
    args: {
      derivedFrom: [OTHER_SEED, SEED],
      rotations,
      workspaces: { acme: {}, globex: { ...acme, subject: "acme", forwardTo: FORWARD_TO } },
    },
    urls: {
      acme: { path: "/acme", keys: ofTwoSeeds },
      globex: { path: "/globex", keys: [...ofTwoSeeds, VERIFICATION_KEY] },
    },
  },
  process: {
    args: { workspaces: { acme }, host: "0.0.0.0", port, dataDir: join(folder, "own") },
    urls: { acme: { url: `http://127.0.0.1:${port}/acme`, keys: [VERIFICATION_KEY] } },
  },
  nothing: {
    args: {
      derivedFrom: absent(),
      rotations: absent(),
      host: absent(),
      port: absent(),
      publicUrl: absent(),
      dataDir: absent(),
      workspaces: { acme: { ...acme, path: absent(), subject: absent(), forwardTo: absent() } },
    },
    urls: { acme: { path: "/acme", keys: [VERIFICATION_KEY] } },
  },
  secret: {
    args: {
      publicUrl: pulumi.secret(`https://${SECRET_HOST}/a`),
      workspaces: { acme: { ...acme, path: pulumi.secret(SECRET_PATH) } },
    },
    urls: { acme: { url: `https://${SECRET_HOST}/a${SECRET_PATH}`, keys: [] } },
  },
});

/** The same arguments for the dynamic provider and for the plugin, in one stack. */
const providers = { dynamic: HandshakeResponder, plugin: PluginResponder };

describe("responders on the dynamic provider and the plugin", () => {
  let stack: TestStack;
  const cases: Record<string, Case> = {};

  beforeAll(async () => {
    const backend = await createBackend();
    const classes = new Map<string, (typeof providers)["plugin" | "dynamic"]>();
    for (const [provider, Responder] of Object.entries(providers)) {
      const folder = join(backend.folder, provider);
      const own = casesIn(folder, await freePort());
      for (const [name, one] of Object.entries(own)) {
        cases[`${provider}-${name}`] = one;
        classes.set(`${provider}-${name}`, Responder);
      }
    }
    stack = await createStack(backend, {
      program: async () =>
        Object.fromEntries(
          Object.entries(cases).map(([name, { args }]) => {
            const Responder = classes.get(name) ?? HandshakeResponder;
            const { urls, healthUrl } = new Responder(name, args);
            return [name, { urls, healthUrl }];
          }),
        ),
      environment: responderEnvironment(backend),
      plugin: pluginFolder,
    });
  });

  test("deploy each documented combination of arguments, and find no changes afterwards", async () => {
    await stack.up();
    const outputs = (await stack.secretOutputs()) as Record<
      string,
      { urls: Record<string, string>; healthUrl: string }
    >;
    const refused: unknown[] = [];
    for (const [name, { urls }] of Object.entries(cases)) {
      const found = outputs[name];
      const origin = found?.healthUrl.replace(/\/healthz$/, "");
      const expected = Object.entries(urls).map(([one, { path, url }]) => [one, url ?? `${origin}${path}`]);
      expect([name, found?.urls]).toEqual([name, Object.fromEntries(expected)]);
      for (const [one, { keys }] of Object.entries(urls)) {
        const url = found?.urls[one] ?? "";
        for (const key of keys) {
          const status = await deliverTo(url, key);
          if (status !== 200) refused.push([name, one, status]);
        }
      }
    }
    expect(refused).toEqual([]);
    const { changes } = await stack.preview();
    expect(Object.keys(changes)).toEqual(["same"]);
  });

  test("encrypt a URL in the state if its path or public URL is secret", async () => {
    const state = await stack.state();
    expect([SECRET_PATH, SECRET_HOST].filter((secret) => state.includes(secret))).toEqual([]);
  });
});
