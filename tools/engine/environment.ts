import { delimiter } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { findExecutable, hosts, type Engine } from "./engine.ts";

const binaries = fileURLToPath(new URL("../../node_modules/.bin", import.meta.url));

interface RunOptions {
  /** A folder of the run's own, for plugins and credentials. */
  home: string;
  /** The folder of the file backend, or a whole backend URL. */
  backend: string;
  passphrase: string;
}

/**
 * The whole environment of a Pulumi run on a backend without an account: `pulumi` and Node 24 first on PATH, nothing
 * of the caller's own Pulumi or API Channel settings, no downloads.
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
    // Without it the engine warns that it takes its own hosts from PATH.
    ...(bundled && { PULUMI_IGNORE_AMBIENT_PLUGINS: "true" }),
  };
}

/** Puts `pulumi` and Node 24 on PATH in the terminal that it is pasted into. */
export const exportLine = ({ directory }: Engine): string => `export PATH="${directory}:${binaries}:$PATH"`;
