import { readFile } from "node:fs/promises";
import { parse } from "node:path";
import type { EmulatorOptions } from "../../emulator/index.js";
import { scenario } from "../../emulator/flows/scenario.js";
import { checkSecret } from "../../resource/checks.js";
import { readYamlFile } from "../../yaml-file.js";
import { UsageError } from "../usage-error.js";
import { pickSwitches } from "./open-point-options.js";
import { readSeed } from "./seed.js";
import { generateKeys } from "./keys.js";

/** The options of `apichat emulator` beside the open points, as commander gives them. */
export interface EmulatorCliOptions extends Record<string, unknown> {
  port: number;
  botPort: number;
  host: string;
  tokenFile?: string;
  workspace?: string[];
  seed?: string;
  data?: string;
  flow?: string;
  scenario?: string;
  /** JSON of any shape. */
  fault?: unknown[];
  quiet?: boolean;
  json?: boolean;
}

/** Without any other workspace. */
export const DEFAULT_WORKSPACE = "acme";

const TOKEN_VARIABLE = "APICHAT_EMULATOR_TOKEN";

/** The options of `startEmulator`, files read. Throws a UsageError or `invalid_config` for what is wrong. */
export async function toEmulatorOptions(options: EmulatorCliOptions): Promise<EmulatorOptions> {
  const { port, botPort, host, data, workspace: names = [], fault: faults = [] } = options;
  const seed = options.seed === undefined ? {} : await readSeed(options.seed);
  const token = await readToken(options.tokenFile);
  const workspaces = names.map((name) => ({ name, ...generateKeys(name, host) }));
  return {
    port,
    botPort,
    host,
    ...(token === undefined ? {} : { token }),
    ...(data === undefined ? {} : { data }),
    ...(await readFlow(options)),
    ...pickSwitches(options),
    workspaces: [...(seed.workspaces ?? []), ...workspaces],
    // Rules of any shape: startEmulator names what is wrong with one.
    faults: [...(seed.faults ?? []), ...(faults as NonNullable<EmulatorOptions["faults"]>)],
  };
}

async function readFlow({
  flow,
  scenario: file,
}: EmulatorCliOptions): Promise<Pick<EmulatorOptions, "flow" | "flows">> {
  if (file === undefined) return flow === undefined ? {} : { flow };
  if (flow !== undefined) throw new UsageError("give either --flow or --scenario: each says what replies");
  const { name } = parse(file);
  return { flow: name, flows: { [name]: await readYamlFile(file, scenario) } };
}

async function readToken(file: string | undefined): Promise<string | undefined> {
  const name = file === undefined ? TOKEN_VARIABLE : `the token in ${file}`;
  const token = file === undefined ? process.env[TOKEN_VARIABLE] : await readTokenFile(file);
  if (token === undefined || (file === undefined && token === "")) return undefined;
  const [failure] = checkSecret(name, token, "give the token alone");
  if (failure !== undefined) throw new UsageError(failure.reason);
  return token;
}

async function readTokenFile(file: string): Promise<string> {
  try {
    return (await readFile(file, "utf8")).replace(/\r?\n$/, "");
  } catch (error) {
    throw new UsageError(`--token-file: ${(error as Error).message}; name a file that holds the token alone`);
  }
}
