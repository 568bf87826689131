import { fileURLToPath } from "node:url";
import { cloudflareTest } from "@cloudflare/vitest-plugin";
import { defineConfig } from "vitest/config";

const root = fileURLToPath(new URL("..", import.meta.url));

/** The responder's conditional import, taken from the sources: unit tests need no build. */
const alias = { "#hmac": `${root}provider/responder/hmac-node.ts` };
const aliasInWorkerd = { "#hmac": `${root}provider/responder/hmac-web.ts` };

/** Waits end with what they wait for. These only end what would never come, so they fit a busy machine too. */
const patience = { testTimeout: 30_000, hookTimeout: 30_000, expect: { poll: { timeout: 20_000 } } };

/** One project after the other: each has its own number of workers. */
export default defineConfig({
  root,
  test: {
    projects: [
      {
        resolve: { alias },
        // Most of their time is waiting for sockets and limits, so more workers than cores pay.
        test: {
          name: "unit",
          root,
          ...patience,
          include: ["test/unit/**/*.test.ts"],
          maxWorkers: 4,
          sequence: { groupOrder: 0 },
        },
      },
      {
        resolve: { alias },
        // Simulated runs of the engine over the provider's own interface, without the engine.
        test: {
          name: "model",
          root,
          ...patience,
          include: ["test/model/**/*.test.ts"],
          sequence: { groupOrder: 9 },
        },
      },
      {
        test: {
          name: "provider",
          root,
          ...patience,
          include: ["test/provider/**/*.test.ts"],
          sequence: { groupOrder: 1 },
          testTimeout: 60_000,
          hookTimeout: 60_000,
        },
      },
      {
        test: {
          name: "engine",
          root,
          ...patience,
          include: ["test/engine/**/*.test.ts"],
          sequence: { groupOrder: 2 },
          testTimeout: 300_000,
          hookTimeout: 300_000,
          maxWorkers: 2,
        },
      },
      {
        resolve: { alias },
        test: {
          name: "contract",
          root,
          ...patience,
          include: ["test/contract/{node,fetch,lambda}.test.ts"],
          maxWorkers: 2,
          sequence: { groupOrder: 4 },
        },
      },
      {
        resolve: { alias: aliasInWorkerd },
        // `cf` false: what Cloudflare's edge adds to a request would be fetched from there.
        plugins: [cloudflareTest({ miniflare: { compatibilityDate: "2026-10-01", cf: false } })],
        test: {
          name: "workerd",
          root,
          ...patience,
          include: ["test/contract/workerd.test.ts"],
          maxWorkers: 1,
          sequence: { groupOrder: 5 },
        },
      },
      {
        test: {
          name: "process",
          root,
          ...patience,
          include: ["test/process/**/*.test.ts"],
          sequence: { groupOrder: 6 },
          testTimeout: 120_000,
          hookTimeout: 120_000,
        },
      },
      {
        test: {
          name: "cloud",
          root,
          ...patience,
          include: ["test/cloud/**/*.test.ts"],
          sequence: { groupOrder: 7 },
          testTimeout: 120_000,
          hookTimeout: 120_000,
        },
      },
      {
        test: {
          name: "browser",
          root,
          ...patience,
          include: ["test/browser/**/*.test.ts"],
          globalSetup: "test/browser/one-browser.ts",
          maxWorkers: 1,
          sequence: { groupOrder: 8 },
          testTimeout: 120_000,
          hookTimeout: 120_000,
        },
      },
      {
        test: {
          name: "package",
          root,
          ...patience,
          include: ["test/package/**/*.test.ts"],
          sequence: { groupOrder: 3 },
          testTimeout: 600_000,
          hookTimeout: 600_000,
          maxWorkers: 1,
        },
      },
    ],
  },
});
