import { join } from "node:path";
import * as pulumi from "@pulumi/pulumi";
import { HandshakeResponder, type HandshakeResponderArgs } from "pulumi-apichat";
import { deriveVerificationKeys } from "pulumi-apichat/responder";
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
const derived = { derivedFrom: SEED, rotations };
const [latest = ""] = DERIVED[0]?.[3] ?? [];
const ofTwoSeeds = DERIVED[1]?.[3] ?? [];

/** The short form's workspace has this name, and so this subject. */
const ofDefault = await deriveVerificationKeys(SEED, { subject: "default", rotations });

/** An argument that is given and resolves to nothing, as `config.getSecret` does. */
const absent = (): pulumi.Output<never> => pulumi.secret(undefined) as unknown as pulumi.Output<never>;

interface Case {
  args: HandshakeResponderArgs;
  /** The URLs, as far as they follow from the arguments, with the keys that each accepts. */
  urls: Record<string, { path?: string; url?: string; keys: string[] }>;
}

/** Every argument of docs/handshake-responder.md, in both forms, and everything that may be left out once without it. */
const casesIn = (folder: string, ports: readonly number[]): Record<string, Case> => ({
  key: {
    args: { verificationKeys: VERIFICATION_KEY },
    urls: { default: { path: "/", keys: [VERIFICATION_KEY] } },
  },
  keys: {
    args: { verificationKeys: [VERIFICATION_KEY, latest], path: "/hooks", forwardTo: FORWARD_TO },
    urls: { default: { path: "/hooks", keys: [VERIFICATION_KEY, latest] } },
  },
  derived: {
    args: { ...derived, subject: "acme" },
    urls: { default: { path: "/", keys: [latest] } },
  },
  "derived-and-keys": {
    args: { derivedFrom: [OTHER_SEED, SEED], rotations, subject: "acme", verificationKeys: VERIFICATION_KEY },
    urls: { default: { path: "/", keys: [...ofTwoSeeds, VERIFICATION_KEY] } },
  },
  "derived-alone": { args: derived, urls: { default: { path: "/", keys: ofDefault } } },
  workspaces: {
    args: {
      workspaces: {
        acme: { verificationKeys: VERIFICATION_KEY },
        globex: { verificationKeys: [latest], path: "/g", forwardTo: FORWARD_TO },
      },
    },
    urls: {
      acme: { path: "/acme", keys: [VERIFICATION_KEY] },
      globex: { path: "/g", keys: [latest] },
    },
  },
  "derived-workspaces": {
    args: {
      ...derived,
      workspaces: {
        acme: {},
        globex: { subject: "acme", forwardTo: FORWARD_TO },
        initech: { verificationKeys: VERIFICATION_KEY, path: "/i" },
      },
    },
    urls: {
      acme: { path: "/acme", keys: [latest] },
      globex: { path: "/globex", keys: [latest] },
      initech: { path: "/i", keys: [VERIFICATION_KEY] },
    },
  },
  process: {
    args: {
      verificationKeys: VERIFICATION_KEY,
      host: "0.0.0.0",
      port: ports[0] ?? 0,
      dataDir: join(folder, "own"),
    },
    urls: { default: { url: `http://127.0.0.1:${ports[0]}/`, keys: [VERIFICATION_KEY] } },
  },
  tunnel: {
    args: { verificationKeys: VERIFICATION_KEY, port: ports[1] ?? 0, publicUrl: "https://tunnel.example/a" },
    urls: { default: { url: "https://tunnel.example/a/", keys: [] } },
  },
  nothing: {
    args: {
      derivedFrom: absent(),
      rotations: absent(),
      host: absent(),
      port: absent(),
      publicUrl: absent(),
      dataDir: absent(),
      workspaces: {
        acme: { verificationKeys: VERIFICATION_KEY, path: absent(), subject: absent(), forwardTo: absent() },
      },
    },
    urls: { acme: { path: "/acme", keys: [VERIFICATION_KEY] } },
  },
  "secret-path": {
    args: { verificationKeys: VERIFICATION_KEY, path: pulumi.secret(SECRET_PATH) },
    urls: { default: { path: SECRET_PATH, keys: [VERIFICATION_KEY] } },
  },
  "secret-paths": {
    args: { workspaces: { acme: { verificationKeys: VERIFICATION_KEY, path: pulumi.secret(SECRET_PATH) } } },
    urls: { acme: { path: SECRET_PATH, keys: [VERIFICATION_KEY] } },
  },
  "secret-tunnel": {
    args: { verificationKeys: VERIFICATION_KEY, publicUrl: pulumi.secret(`https://${SECRET_HOST}`) },
    urls: { default: { url: `https://${SECRET_HOST}/`, keys: [] } },
  },
});

/** In one stack: the same arguments on the dynamic provider and on the plugin. */
const providers = { dynamic: HandshakeResponder, plugin: PluginResponder };

describe("responders of the dynamic provider and of the plugin", () => {
  let stack: TestStack;
  const cases: Record<string, Case> = {};

  beforeAll(async () => {
    const backend = await createBackend();
    const classes = new Map<string, (typeof providers)["plugin" | "dynamic"]>();
    for (const [provider, Responder] of Object.entries(providers)) {
      const folder = join(backend.folder, provider);
      const own = casesIn(folder, [await freePort(), await freePort()]);
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

  test("each combination of arguments of the docs is previewed, brought up and found unchanged", async () => {
    await stack.preview();
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

  test("a URL whose path or public URL is secret is encrypted in the state", async () => {
    const state = await stack.state();
    expect([SECRET_PATH, SECRET_HOST].filter((secret) => state.includes(secret))).toEqual([]);
  });
});
