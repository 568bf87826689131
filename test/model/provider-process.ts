import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";
import { compileFunction } from "node:vm";
import { build } from "esbuild";
import { unmarked } from "../support/dynamic.js";

export type Values = Record<string, unknown>;

/** The lifecycle as the engine sees it: methods over plain values. */
export interface Provider {
  configure(request: { config: { get(key: string): string | undefined } }): void;
  check(olds: Values, news: Values): Promise<{ inputs: Values; failures: object[] }>;
  diff(id: string, olds: Values, news: Values): Promise<{ changes: boolean; replaces: string[] }>;
  create(inputs: Values): Promise<{ id: string; outs: Values }>;
  read(id: string, props: Values): Promise<{ id?: string; props?: Values; inputs?: Values }>;
  update(id: string, olds: Values, news: Values): Promise<{ outs: Values }>;
  delete(id: string, props: Values): Promise<void>;
}

const source = (path: string): string => fileURLToPath(new URL(`../../provider/${path}`, import.meta.url));

/**
 * Gives a function that loads `provider/dynamic.ts` as a new provider process does: every module of ours begins anew, with
 * nothing declared and no connection open. One bundle, evaluated again and again, takes 2 ms; `vi.resetModules` takes 25.
 */
export async function bundleProvider(): Promise<() => Provider> {
  const { outputFiles } = await build({
    entryPoints: [source("dynamic.ts")],
    alias: { "#hmac": source("responder/hmac-node.ts") },
    bundle: true,
    write: false,
    platform: "node",
    format: "cjs",
    packages: "external",
    sourcemap: "inline",
    define: { "import.meta.url": JSON.stringify(import.meta.url) },
  });
  type Exports = { ApiChatWebhook: Provider };
  const evaluate = compileFunction(outputFiles[0]?.text ?? "", ["require", "module"], {
    filename: fileURLToPath(new URL("provider.cjs", import.meta.url)),
  }) as (require: NodeJS.Require, module: { exports: Exports }) => void;
  const require = createRequire(import.meta.url);
  return () => {
    const module = { exports: {} as Exports };
    evaluate(require, module);
    return unmarked(module.exports.ApiChatWebhook);
  };
}
