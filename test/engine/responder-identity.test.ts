import { rm } from "node:fs/promises";
import { join } from "node:path";
import type { CustomResourceOptions } from "@pulumi/pulumi";
import { HandshakeResponder } from "pulumi-apichat";
import { beforeAll, describe, expect, test } from "vitest";
import { API_KEY, VERIFICATION_KEY } from "../support/endpoint.ts";
import { freePort } from "../support/http.ts";
import { pluginFolder, PluginProvider, PluginResponder } from "../support/plugin.ts";
import { deliverTo, respondersOn, responderEnvironment } from "../support/responder.ts";
import { createBackend, createStack, type Backend, type TestStack } from "../support/stack.ts";

const key = { workspaces: { acme: { verificationKeys: VERIFICATION_KEY } } };

describe("responders whose name, provider or folder changes", () => {
  let backend: Backend;
  let stack: TestStack;
  let port: number;
  let dataDir: string;
  const pids = (): Promise<number[]> => respondersOn(backend.folder);

  /** A responder at a fixed port on the dynamic provider, and one with its own folder on an explicit provider of the plugin. */
  const declare = (
    fixed: { name: string; options?: CustomResourceOptions },
    own: { name: string; provider: string },
  ): void =>
    stack.run(async () => {
      void new HandshakeResponder(fixed.name, { ...key, port }, fixed.options);
      const provider = new PluginProvider(own.provider, { apiKey: API_KEY });
      void new PluginResponder(own.name, { ...key, dataDir }, { provider });
    });

  beforeAll(async () => {
    backend = await createBackend();
    port = await freePort();
    dataDir = join(backend.folder, "own");
    stack = await createStack(backend, {
      program: async () => ({}),
      environment: responderEnvironment(backend),
      plugin: pluginFolder,
    });
    declare({ name: "fixed" }, { name: "own", provider: "first" });
    await stack.up();
  });

  test("a rename and another provider at once leave the process and the folder to the new resource", async () => {
    const [pid] = await respondersOn(dataDir);
    declare({ name: "fixed" }, { name: "own-renamed", provider: "second" });
    const { output } = await stack.up();
    expect(output).toMatch(/the responder stays: its folder .*\/own belongs to .*\/own-renamed now/);
    expect(await respondersOn(dataDir)).toEqual([pid]);
    const outputs = (await stack.resource("own-renamed", "Responder"))?.outputs as {
      urls: { acme: string };
    };
    expect(await deliverTo(outputs.urls.acme, VERIFICATION_KEY)).toBe(200);
  });

  test("a rename at a fixed port names the former resource and its alias, which keeps the process", async () => {
    const before = await pids();
    const own = { name: "own-renamed", provider: "second" };
    declare({ name: "fixed-renamed" }, own);
    const failure = await stack.fails("up");
    expect(failure).toContain(`port: ${port} is taken by the responder "fixed" of this stack`);
    expect(failure).toContain('if "fixed-renamed" is its new name, give it the alias "fixed"');
    expect(failure).not.toContain("another program");
    declare(
      { name: "fixed-renamed", options: { aliases: [{ name: "fixed" }, { type: "acme:index:Former" }] } },
      own,
    );
    await stack.up();
    expect(await pids()).toEqual(before);
  });

  test("folders that were removed: a refreshing up replaces the processes, and destroy leaves none", async () => {
    const before = await pids();
    const folders = [dataDir, join(backend.folder, "state")];
    const remove = (): Promise<unknown> =>
      Promise.all(folders.map((folder) => rm(folder, { recursive: true })));
    await remove();
    await stack.up({ refresh: true });
    const after = await pids();
    expect(after).toHaveLength(2);
    expect(after.filter((pid) => before.includes(pid))).toEqual([]);
    expect(await deliverTo(`http://127.0.0.1:${port}/acme`, VERIFICATION_KEY)).toBe(200);
    await remove();
    const { output } = await stack.destroy();
    expect(output).toMatch(/fixed-renamed: warning: the folder .* was removed while the responder ran/);
    expect(output).toMatch(/own-renamed.* the folder .* was removed while the responder ran/s);
    expect(await pids()).toEqual([]);
  });
});
