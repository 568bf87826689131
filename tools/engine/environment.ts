import { delimiter } from "node:path";
import process from "node:process";
import { inClone } from "../lib/clone.ts";
import { findExecutable, hosts, type Engine } from "./engine.ts";

const binaries = inClone("node_modules/.bin");

interface RunOptions {
  /** The run's own folder for plugins and credentials. */
  home: string;
  /** The folder of the file backend, or a backend URL. */
  backend: string;
  passphrase: string;
}

/**
 * Returns the complete environment for a Pulumi run with a backend that needs no account: `pulumi` and Node 24
 * first on PATH, none of the caller's own Pulumi or API Channel settings, no downloads.
 */
export function engineEnvironment(engine: Engine, run: RunOptions): NodeJS.ProcessEnv {
  const inherited = Object.entries(process.env).filter(([name]) => !/^(PULUMI|APICHAT)_/.test(name));
  const bundled = hosts.every((host) => findExecutable(host, [engine.directory]) !== undefined);
  return {
    ...Object.fromEntries(inherited),
    PATH: [binaries, engine.directory, process.env.PATH].filter(Boolean).join(delimiter),
    PULUMI_BACKEND_URL: run.backend.includes("://") ? run.backend : `file://${run.backend}`,
    PULUMI_CONFIG_PASSPHRASE: run.passphrase,
    PULUMI_HOME: run.home,
    PULUMI_SKIP_UPDATE_CHECK: "true",
    PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION: "true",
    // Else the engine warns about its own hosts, because their folder is on PATH.
    ...(bundled && { PULUMI_IGNORE_AMBIENT_PLUGINS: "true" }),
  };
}

/** Returns the line that puts `pulumi` and Node 24 on PATH in a terminal. */
export const exportLine = ({ directory }: Engine): string => `export PATH="${directory}:${binaries}:$PATH"`;
