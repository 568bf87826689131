import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import * as z from "zod";
import { ApiChatError } from "../errors/index.js";
import { createRedactor, type Redact } from "../lib/redact.js";
import { checkVerificationKey } from "../resource/key-check.js";
import { problemsOfParts, reasonsOf, toWirePath } from "./config-problems.js";
import { fileShape, soundParts, type FileConfig, type SoundParts } from "./config-shape.js";
import { warningsOf } from "./config-warnings.js";
import { readKeys } from "./key-source.js";
import { defaultPath, HEALTH_PATH } from "./names.js";

/** One workspace: what its path answers, and where its deliveries go. */
export interface WorkspaceConfig {
  /** The first is the current one; all answer handshakes and verify deliveries. */
  verificationKeys: string[];
  /** Such as "/acme"; no two workspaces have the same. */
  path: string;
  /** Where deliveries are forwarded; without it they are kept to be read. */
  forwardTo?: string;
}

/** What the configuration file of a responder says. */
export interface ServerConfig {
  /** Default: 127.0.0.1, this machine only. */
  host: string;
  /** 0: any port that is free. */
  port: number;
  /** The folder of the spool, the log and the announcement of the running process; absolute. */
  dataDir: string;
  workspaces: Record<string, WorkspaceConfig>;
  /**
   * How long a delivery is tried before it becomes a dead letter, in seconds. Time behind another of its conversation, or in
   * which no responder ran, does not count. Default: a day.
   */
  forwardWithinSeconds?: number;
  /** How large a request's body may be, in bytes. Default: 1 MiB. */
  bodyLimitBytes?: number;
  /** Default: "/healthz". */
  healthPath?: string;
}

/** A configuration file as it was read. */
export interface LoadedConfig {
  config: ServerConfig;
  /** SHA-256 in hex of the file's bytes. */
  digest: string;
  /** What works, and should be fixed nevertheless: one line each. */
  warnings: string[];
  /** Takes the keys of all workspaces out of a text. */
  redact: Redact;
}

/**
 * Reads a responder's configuration file: JSON of the shape of {@link ServerConfig}, where `verificationKeys` may also be
 * one key, a key may be `{ "file": path }` or `{ "env": name }`, `path` may be left out, and paths of files are relative
 * to the folder of the configuration. Throws `invalid_config` with everything that is wrong, one line each. No key is in it.
 */
export async function loadConfig(file: string): Promise<LoadedConfig> {
  const bytes = await readBytes(file);
  const folder = dirname(resolve(file));
  const parsed = parseFile(file, bytes);
  const keys = await readAllKeys(parsed.parts, folder);
  const given = soundOf(file, { ...parsed, problems: [...parsed.problems, ...keys.problems] });
  const config = {
    ...given,
    dataDir: resolve(folder, given.dataDir),
    workspaces: toWorkspaces(given, keys.byWorkspace),
    healthPath: toWirePath(given.healthPath ?? HEALTH_PATH),
  };
  return {
    config,
    digest: createHash("sha256").update(bytes).digest("hex"),
    warnings: await warningsOf(file, { given, config, folder }),
    redact: createRedactor([...keys.byWorkspace.values()].flat()),
  };
}

/** Where a configuration keeps its deliveries, and of which workspaces. */
export interface ConfiguredPlace {
  dataDir: string;
  workspaces: string[];
}

/** Reads this much of a configuration, without its keys. Throws `invalid_config`. */
export async function readPlace(file: string): Promise<ConfiguredPlace> {
  const { dataDir, workspaces } = soundOf(file, parseFile(file, await readBytes(file)));
  return { dataDir: resolve(dirname(resolve(file)), dataDir), workspaces: Object.keys(workspaces) };
}

async function readBytes(file: string): Promise<Uint8Array> {
  try {
    return await readFile(file);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw invalid(file, [`cannot be read (${code}); give the path of a configuration`]);
  }
}

interface ParsedFile {
  /** undefined: its shape is wrong. */
  given: FileConfig | undefined;
  /** What of it can be checked further. */
  parts: SoundParts;
  problems: string[];
}

function parseFile(file: string, bytes: Uint8Array): ParsedFile {
  const json = parseJson(file, bytes);
  const { data: given, error } = fileShape.safeParse(json);
  const parts = soundParts.parse(json);
  const ofShape = (error?.issues ?? []).map(({ path: at, message }) =>
    at.length === 0 ? message : `${z.core.toDotPath(at)}: ${message}`,
  );
  return { given, parts, problems: [...ofShape, ...problemsOfParts(parts)] };
}

function soundOf(file: string, { given, problems }: ParsedFile): FileConfig {
  if (given === undefined || problems.length > 0) throw invalid(file, problems);
  return given;
}

function parseJson(file: string, bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch (error) {
    // Of the message only the place: the rest quotes the file, and with it a key.
    const [place] = /line \d+ column \d+/.exec(String(error)) ?? [];
    throw invalid(file, [`must be JSON in UTF-8${place === undefined ? "" : `, and is not at ${place}`}`]);
  }
}

interface AllKeys {
  byWorkspace: Map<string, string[]>;
  problems: string[];
}

async function readAllKeys({ workspaces = {} }: SoundParts, folder: string): Promise<AllKeys> {
  const problems: string[] = [];
  const byWorkspace = new Map<string, string[]>();
  for (const [name, { verificationKeys }] of Object.entries(workspaces)) {
    if (verificationKeys === undefined) continue;
    const field = `workspaces.${name}.verificationKeys`;
    const keys = await readKeys([verificationKeys].flat(), { field, folder });
    problems.push(
      ...keys.flatMap(({ key, problem }) => problem ?? reasonsOf(checkVerificationKey(field, key))),
    );
    byWorkspace.set(
      name,
      keys.flatMap(({ key }) => key ?? []),
    );
  }
  return { byWorkspace, problems };
}

function toWorkspaces(
  { workspaces }: FileConfig,
  keys: ReadonlyMap<string, string[]>,
): Record<string, WorkspaceConfig> {
  return Object.fromEntries(
    Object.entries(workspaces).map(([name, { path, forwardTo }]) => [
      name,
      {
        verificationKeys: keys.get(name) ?? [],
        path: toWirePath(path ?? defaultPath(name)),
        ...(forwardTo !== undefined && { forwardTo }),
      },
    ]),
  );
}

function invalid(file: string, problems: readonly string[]): ApiChatError {
  const [only] = problems;
  const text = problems.length === 1 ? ` ${only}` : problems.map((problem) => `\n  ${problem}`).join("");
  return new ApiChatError("invalid_config", `${file}:${text}`, { operation: "responder" });
}
