import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { ApiChatError, renderProblem, type FieldProblem } from "../errors/index.js";
import { readTextFile, warningOfMode } from "../lib/files.js";
import { parse } from "../lib/validate.js";
import { createRedactor, type Redact } from "../lib/redact.js";
import { formatUrl, defaultPath, HEALTH_PATH, toWirePath } from "../lib/url.js";
import { isClearText, problemsOfKey } from "../lib/checks.js";
import { deriveVerificationKeys, problemsOfDerivation } from "../responder/derive.js";
import { fileShape, problemsOfLoops, type FileConfig, type KeySource } from "./config-shape.js";
import type { Address } from "./listener.js";

/** The keys and path of one workspace, and where its deliveries go. */
interface WorkspaceConfig {
  /** The first is the current one; all answer handshakes and verify deliveries. */
  verificationKeys: string[];
  /** The path, such as "/acme", unique among the workspaces. */
  path: string;
  /** Without it deliveries are kept to be read. */
  forwardTo?: string | undefined;
}

/** A configuration with its keys and defaults: `dataDir` is absolute, paths are as a client sends them. */
export interface ServerConfig extends Omit<FileConfig, "workspaces" | "derivedFrom" | "rotations"> {
  workspaces: Record<string, WorkspaceConfig>;
}

/** A configuration file as it was read. */
export interface LoadedConfig {
  config: ServerConfig;
  /** SHA-256 in hex of the file's text. */
  digest: string;
  /** Things that work but should be fixed, one line each. */
  warnings: string[];
  /** Redacts the keys of all workspaces in a text. */
  redact: Redact;
}

/**
 * Reads a responder's configuration file: JSON of the shape of {@link ServerConfig}, where `verificationKeys` may also be
 * one key, a key may be `{ "file": path }` or `{ "env": name }`, `path` may be left out, and paths of files are relative
 * to the folder of the configuration. Throws `invalid_config` with everything that is wrong, one line each. No key is in it.
 */
export async function loadConfig(file: string, makeRedactor = createRedactor): Promise<LoadedConfig> {
  const text = await readTextFile(file, "configuration");
  const folder = dirname(resolve(file));
  const given = requireConfig(file, text);
  const { derivedFrom: _derivedFrom, rotations: _rotations, ...rest } = given;
  const keys = await readKeys(given, folder);
  if (keys.problems.length > 0) throw invalid(file, keys.problems);
  const workspaces = Object.entries(given.workspaces).map(([name, { path, forwardTo }]) => {
    const verificationKeys = keys.byWorkspace.get(name) ?? [];
    return [name, { verificationKeys, path: toWirePath(path ?? defaultPath(name)), forwardTo }] as const;
  });
  const config = {
    ...rest,
    dataDir: resolve(folder, given.dataDir),
    workspaces: Object.fromEntries(workspaces),
    healthPath: toWirePath(given.healthPath ?? HEALTH_PATH),
  };
  return {
    config,
    digest: createHash("sha256").update(text).digest("hex"),
    warnings: [...warnOfModes(file, given, folder), ...warnOfClearText(config)],
    redact: makeRedactor([...keys.seeds, ...[...keys.byWorkspace.values()].flat()]),
  };
}

/** Throws `invalid_config` for a configuration that forwards to itself where it listens, once a free port is known. */
export function refuseLoops({ workspaces }: ServerConfig, address: Address): void {
  const places = Object.entries(workspaces).map(([name, workspace]) => ({ name, ...workspace }));
  const problems = problemsOfLoops(places, address).map(({ name, text }) => ({
    field: `workspaces.${name}.forwardTo`,
    text,
  }));
  if (problems.length > 0) throw new ApiChatError("invalid_config", "", { operation: "responder", problems });
}

/** Returns a `createRedactor` that makes another one only for other secrets: with 10,000 keys that takes a second. */
export function rememberRedactor(): typeof createRedactor {
  let last: { secrets: readonly string[]; redact: Redact } | undefined;
  return (secrets) => {
    if (last === undefined || !isDeepStrictEqual(last.secrets, secrets))
      last = { secrets, redact: createRedactor(secrets) };
    return last.redact;
  };
}

/** Where a configuration keeps its deliveries, and of which workspaces. */
export interface ConfiguredPlace {
  dataDir: string;
  workspaces: string[];
}

/** Reads this much of a configuration, without its keys. Throws `invalid_config`. */
export async function readPlace(file: string): Promise<ConfiguredPlace> {
  const { dataDir, workspaces } = requireConfig(file, await readTextFile(file, "configuration"));
  return { dataDir: resolve(dirname(resolve(file)), dataDir), workspaces: Object.keys(workspaces) };
}

function requireConfig(file: string, text: string): FileConfig {
  const { data, problems } = parse(fileShape, parseJson(file, text));
  if (problems !== undefined) throw invalid(file, problems);
  return data;
}

function parseJson(file: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    // Use only the position from the message: the rest quotes the file, which may contain a key.
    const [place] = /line \d+ column \d+/.exec(String(error)) ?? [];
    throw invalid(file, [
      { field: "", text: `must be JSON${place === undefined ? "" : `; error at ${place}`}` },
    ]);
  }
}

function invalid(file: string, problems: readonly FieldProblem[]): ApiChatError {
  const [first = "", ...others] = problems.map((problem) => renderProblem(problem));
  const operation = "responder";
  return others.length === 0
    ? new ApiChatError("invalid_config", `${file}: ${first}`, { operation })
    : new ApiChatError("invalid_config", `${file}:`, { operation, details: [first, ...others] });
}

interface ReadKeys {
  seeds: string[];
  byWorkspace: Map<string, string[]>;
  problems: FieldProblem[];
}

/** Reads the keys of all workspaces: the derived ones first, then those that a workspace lists. */
async function readKeys(
  { derivedFrom, rotations = [], workspaces }: FileConfig,
  folder: string,
): Promise<ReadKeys> {
  const { texts: seeds, problems } = await readSources("derivedFrom", derivedFrom, folder);
  if (derivedFrom !== undefined && problems.length === 0) {
    problems.push(...problemsOfDerivation({ derivedFrom: seeds }));
  }
  const canDerive = problems.length === 0 && derivedFrom !== undefined;
  const byWorkspace = new Map<string, string[]>();
  for (const [name, { verificationKeys, subject = name }] of Object.entries(workspaces)) {
    const field = `workspaces.${name}.verificationKeys`;
    const own = await readSources(field, verificationKeys, folder);
    problems.push(...own.problems, ...own.texts.flatMap(problemsOfKey).map((text) => ({ field, text })));
    const derived = canDerive ? await deriveVerificationKeys(seeds, { subject, rotations }) : [];
    byWorkspace.set(name, [...derived, ...own.texts]);
  }
  return { seeds, byWorkspace, problems };
}

async function readSources(
  field: string,
  sources: KeySource | KeySource[] | undefined,
  folder: string,
): Promise<{ texts: string[]; problems: FieldProblem[] }> {
  const read = await Promise.all([sources ?? []].flat().map((source) => readKey(source, folder)));
  return {
    texts: read.flatMap((one) => ("key" in one ? [one.key] : [])),
    problems: read.flatMap((one) => ("problem" in one ? [{ field, text: one.problem }] : [])),
  };
}

/** Returns a key, or why there is none. */
async function readKey(source: KeySource, folder: string): Promise<{ key: string } | { problem: string }> {
  if (typeof source === "string") return { key: source };
  if ("env" in source) {
    const key = process.env[source.env];
    if (key !== undefined && key !== "") return { key };
    return { problem: `must be an environment variable that is set, got ${source.env}, which is not` };
  }
  const file = resolve(folder, source.file);
  try {
    // Editors and `echo` end a file with a line break, which is not part of the key.
    return { key: (await readFile(file, "utf8")).replace(/\r?\n$/, "") };
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return { problem: `must be a file that can be read, got ${file} (${code})` };
  }
}

/** Warnings about files with keys that others can read. */
function warnOfModes(file: string, { workspaces, derivedFrom = [] }: FileConfig, folder: string): string[] {
  const listed = Object.values(workspaces).flatMap(({ verificationKeys = [] }) => verificationKeys);
  const sources = [...listed, ...[derivedFrom].flat()];
  const keyFiles = sources.flatMap((source) =>
    typeof source === "object" && "file" in source ? resolve(folder, source.file) : [],
  );
  const holdsKeys = sources.some((source) => typeof source === "string");
  return [
    ...(holdsKeys ? [warningOfMode(file, "keys")] : []),
    ...[...new Set(keyFiles)].map((path) => warningOfMode(path, "a key")),
  ].filter((warning) => warning !== undefined);
}

function warnOfClearText({ workspaces }: ServerConfig): string[] {
  return Object.entries(workspaces).flatMap(([name, { forwardTo }]) =>
    forwardTo !== undefined && isClearText(forwardTo)
      ? [
          `workspaces.${name}.forwardTo: ${formatUrl(forwardTo)} uses http, so messages are sent unencrypted; use https`,
        ]
      : [],
  );
}
