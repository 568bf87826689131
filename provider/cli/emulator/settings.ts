import { randomBytes } from "node:crypto";
import { readSeed, type EmulatorOptions } from "../../emulator/index.js";
import { readGiven } from "../credentials.js";
import { UsageError } from "../usage-error.js";
import { pickSwitches } from "./open-points.js";
import { isLoopback } from "../../lib/url.js";

/** The options of `apichat emulator` without the open points, as commander returns them. */
export interface EmulatorCliOptions extends Record<string, unknown> {
  port: number;
  /** Default: the port after `port`, or any free one if `port` is 0 or 65535. */
  botPort?: number;
  host: string;
  tokenFile?: string;
  workspace?: string[];
  seed?: string;
  flow?: EmulatorOptions["flow"];
  /** JSON of any shape. */
  fault?: unknown[];
  quiet?: boolean;
  json?: boolean;
}

const DEFAULT_WORKSPACE = "acme";

const TOKEN = {
  label: "token",
  fileFlag: "--token-file",
  variable: "APICHAT_EMULATOR_TOKEN",
  hint: "use only the token",
};

/**
 * Returns the options for `startEmulator`, and the names of the workspaces with generated keys. A flag overrides the
 * seed. Throws a UsageError or `invalid_config`.
 */
export async function toEmulatorOptions(
  options: EmulatorCliOptions,
): Promise<{ settings: EmulatorOptions; generated: readonly string[] }> {
  const { port, host, flow, workspace: names = [], fault: faults = [] } = options;
  const seed = options.seed === undefined ? {} : await readSeed(options.seed);
  const { workspaces: seeded = [] } = seed;
  const generated = seeded.length === 0 && names.length === 0 ? [DEFAULT_WORKSPACE] : names;
  const token = await readGiven(TOKEN, options.tokenFile);
  if (token === undefined && !isLoopback(host)) {
    throw new UsageError(
      `--host: ${host} can be reached from other machines, but there is no token; ` +
        `pass --token-file or set ${TOKEN.variable}`,
    );
  }
  const flags: EmulatorOptions = { ...(flow === undefined ? {} : { flow }), ...pickSwitches(options) };
  const settings: EmulatorOptions = {
    ...seed,
    ...flags,
    handshake: { ...seed.handshake, ...flags.handshake },
    port,
    botPort: options.botPort ?? (port === 0 || port === 65_535 ? 0 : port + 1),
    host,
    ...(token === undefined ? {} : { token }),
    workspaces: [...seeded, ...generated.map((name) => ({ name, ...generateKeys(name, host) }))],
    faults: [...(seed.faults ?? []), ...(faults as NonNullable<EmulatorOptions["faults"]>)],
  };
  return { settings, generated };
}

/** On loopback, the keys are derived from the name, so that a program still works after the emulator restarts. */
function generateKeys(name: string, host: string): { apiKey: string; flowApiKey: string } {
  if (!isLoopback(host)) return { apiKey: random(), flowApiKey: random() };
  return { apiKey: `${name}-api-key`, flowApiKey: `${name}-flow-api-key` };
}

const random = (): string => randomBytes(24).toString("base64url");
