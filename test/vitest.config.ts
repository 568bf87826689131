import { fileURLToPath } from "node:url";
import { cloudflareTest } from "@cloudflare/vitest-plugin";
import { defineConfig, type TestProjectInlineConfiguration } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";

const root = fileURLToPath(new URL("..", import.meta.url));

/** Resolves the responder's conditional import to the sources, so that these tests need no build. */
const sources = { resolve: { alias: { "#hmac": `${root}provider/responder/hmac-node.ts` } } };

const AFTER_FILE = [`${root}test/support/after-file.ts`];

/** Tests wait for conditions. These limits only end a wait that would never end, even on a busy machine. */
const patience = (seconds: number) => ({
  testTimeout: seconds * 1000,
  hookTimeout: seconds * 1000,
  expect: { poll: { timeout: 20_000 } },
});

/**
 * A project whose test files run concurrently with those of other projects. Test files mostly wait for
 * sockets, processes and limits, so more workers than cores are faster.
 */
const project = (name: string, include: string | string[], seconds: number, more: object = {}, test = {}) =>
  ({
    ...more,
    test: {
      name,
      root,
      include: [include].flat().map((one) => `test/${one}`),
      ...patience(seconds),
      setupFiles: AFTER_FILE,
      maxWorkers: 6,
      sequence: { groupOrder: 0 },
      ...test,
    },
  }) satisfies TestProjectInlineConfiguration;

/** These tests replace modules, so each has its own worker. The other unit tests share workers. */
const ALONE = ["unit/client/{environment,retries}.test.ts", "unit/webhook/preflight.test.ts"];

/** The slowest files. They start first, in this order: a new clone's cache does not know how long files take. */
const LONGEST = [
  /test\/(guides\/(first-steps|fleet-ci|fleet-example)|package\/exports)\./,
  /test\/(package|engine|model|browser\/accessibility)/,
];

/** The index of the first pattern that the file matches; other files come last. */
const rankOf = ({ moduleId }: TestSpecification): number =>
  [...LONGEST, /./].findIndex((pattern) => pattern.test(moduleId));

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    // oxlint-disable-next-line unicorn/no-array-sort -- the sequencer's own method
    const sorted = await super.sort(files);
    return sorted.toSorted((one, other) => rankOf(one) - rankOf(other));
  }
}

export default defineConfig({
  root,
  test: {
    sequence: { sequencer: LongestFirst },
    projects: [
      // These test the sources.
      project("unit", "unit/**/*.test.ts", 60, sources, {
        exclude: ALONE.map((one) => `test/${one}`),
        isolate: false,
        execArgv: ["--import", `${root}test/support/source-hooks.mjs`],
      }),
      project("unit-alone", ALONE, 60, sources),
      // These simulate an engine's runs through the provider's interface, without an engine.
      project("model", "model/**/*.test.ts", 60, sources),
      project("contract", "contract/{node,fetch,lambda,vectors}.test.ts", 60, sources),
      // These test dist/.
      project("provider", "provider/**/*.test.ts", 120),
      // Not isolated, so that each worker loads the Automation API only once.
      project("engine", "engine/**/*.test.ts", 600, {}, { isolate: false }),
      project("process", "process/**/*.test.ts", 240, {}, { isolate: false }),
      // Not in `npm test`.
      project("cloud", "cloud/**/*.test.ts", 240),
      project("guides", "guides/**/*.test.ts", 900, {}, { isolate: false }),
      project("package", "package/**/*.test.ts", 900),
      project("nightly", "nightly/**/*.test.ts", 900),
      project("browser", "browser/**/*.test.ts", 120, {}, { globalSetup: "test/browser/one-browser.ts" }),
      project(
        "workerd",
        "contract/workerd.test.ts",
        60,
        {
          resolve: { alias: { "#hmac": `${root}provider/responder/hmac-web.ts` } },
          // `cf: false`: else Miniflare downloads the properties that Cloudflare's edge adds to a request.
          plugins: [cloudflareTest({ miniflare: { compatibilityDate: "2026-10-01", cf: false } })],
        },
        { setupFiles: [] },
      ),
    ],
  },
});
