import { readFile } from "node:fs/promises";
import { isIP } from "node:net";
import { dirname, resolve } from "node:path";
import * as z from "zod";
import { ApiChatError, renderProblem, type FieldProblem } from "../errors/index.js";
import { readTextFile, warningOfMode } from "../lib/files.js";
import { entriesInSlices, inSlices } from "../lib/in-slices.js";
import { formatUrl, isClearText } from "../lib/url.js";
import {
  WORKSPACE_NAME,
  expected,
  httpUrl,
  parse,
  refineWith,
  showName,
  toField,
  validatedBy,
} from "../lib/validate.js";
import { isMap, kindOf } from "../lib/values.js";
import {
  DERIVATION_RULES,
  deriveVerificationKeys,
  problemOfKeyCount,
  problemsOfDerivation,
  problemsOfKey,
} from "../responder/key-rules.js";
import { DEFAULT_HOST, HEALTH_PATH, READY_PATH, defaultPath, toWirePath } from "./addresses.js";

type Values = Record<string, unknown>;

const keySource = z.union(
  [
    z.string().superRefine(refineWith(problemsOfKey)),
    z.strictObject({ file: z.string().min(1) }),
    z.strictObject({ env: z.string().min(1) }),
  ],
  {
    // The input is not shown: it may be a key in the wrong place.
    error: ({ input }) =>
      `must be a key, { "file": "/run/secrets/key" } or { "env": "NAME" }, got ${kindOf(input)}`,
  },
);

const keysError: z.core.$ZodErrorMap = ({ input }) =>
  `must be a key or a non-empty list of keys, got ${Array.isArray(input) ? "an empty list" : kindOf(input)}; ` +
  'each is a string, { "file": "/run/secrets/key" } or { "env": "NAME" }';

// The path is not shown: its query may be a secret.
const pathError = 'must be a path without a query, fragment or whitespace, such as "/acme"';

const pathShape = z.string({ error: pathError }).regex(/^\/[^?#\s]*$/, { error: pathError });

function positive(example: number): z.ZodInt {
  const error = expected("a whole number of at least 1", `for example ${example}`);
  return z.int({ error }).min(1, { error });
}

const keysShape = z.union([keySource, z.array(keySource).min(1, { error: keysError })], { error: keysError });

const workspaceShape = z.strictObject({
  verificationKeys: keysShape.optional(),
  subject: validatedBy<string>(DERIVATION_RULES.subject).optional(),
  path: pathShape.optional(),
  forwardTo: httpUrl("http://127.0.0.1:3000/").optional(),
});

const HOST_NAME = /^[a-z0-9_-]+(\.[a-z0-9_-]+)*\.?$/i;
const hostError = expected(
  "an address or a host name, without a scheme or port",
  'write "127.0.0.1", or "0.0.0.0" for every address',
);

const portError = expected("a whole number from 0 to 65535", "for example 8080, or 0 for any free port");

const folderError = expected("a folder", 'for example "/var/lib/apichat"');

export const workspacesShape = <Shape extends z.ZodType>(shape: Shape): z.ZodRecord<z.ZodString, Shape> =>
  z.record(z.string(), shape, {
    error: ({ input }) =>
      `must be an object of workspaces by name, got ${kindOf(input)}; for example { acme: { verificationKeys: … } }`,
  });

export const fileShape = z.strictObject({
  host: z
    .string({ error: hostError })
    .refine((text) => isIP(text) > 0 || HOST_NAME.test(text), { error: hostError })
    .default(DEFAULT_HOST),
  port: z.int({ error: portError }).min(0, { error: portError }).max(65_535, { error: portError }),
  dataDir: z.string({ error: folderError }).min(1, { error: folderError }),
  workspaces: workspacesShape(workspaceShape),
  derivedFrom: keysShape.optional(),
  rotations: validatedBy<string[]>(DERIVATION_RULES.rotations).optional(),
  forwardWithinSeconds: positive(86_400).optional(),
  bodyLimitBytes: positive(1_048_576).optional(),
  healthPath: pathShape.optional(),
});

const entryShape = fileShape.pick({ workspaces: true });

type KeySource = z.infer<typeof keySource>;

/** A configuration as stored in its file: keys may be references, paths may be missing. */
export interface FileConfig extends z.infer<typeof fileShape> {}

export function rejectTogether(values: Values, context: z.RefinementCtx): void {
  for (const problem of problemsTogether(values))
    if (problem !== undefined) context.addIssue({ code: "custom", ...problem });
}

/**
 * Yields problems that involve several fields: missing keys, equal paths. Ignores fields that are invalid or unknown.
 * Also yields undefined before each workspace: there, the caller may pause to let other work run.
 */
function* problemsTogether({
  healthPath = HEALTH_PATH,
  derivedFrom,
  rotations,
  workspaces,
}: Values): Generator<{ path: string[]; message: string } | undefined> {
  if ((derivedFrom === undefined) !== (rotations === undefined)) {
    const missing = derivedFrom === undefined ? "derivedFrom" : "rotations";
    yield { path: [missing], message: "is missing; set both derivedFrom and rotations, or neither" };
  }
  if (!isMap(workspaces)) return;
  const derived = count(derivedFrom) * Math.max(1, count(rotations));
  const owners = new Map([[wirePathOf(healthPath), "healthPath"]]).set(READY_PATH, "the ready path");
  const names = Object.keys(workspaces);
  if (names.length === 0)
    yield {
      path: ["workspaces"],
      message: "must contain at least one; for example { acme: { verificationKeys: … } }",
    };
  for (const name of names) {
    yield undefined;
    const workspace = workspaces[name];
    if (!WORKSPACE_NAME.test(name))
      yield {
        path: ["workspaces"],
        message: `a name must be 1 to 64 characters of A-Z, a-z, 0-9, ".", "_", "-", got ${showName(name)}`,
      };
    // The schema reports a workspace that is not an object, so do not also report its missing keys.
    if (!isMap(workspace)) continue;
    const keys = derived + count(workspace["verificationKeys"]);
    const keysText = keys === 0 ? NO_KEY : problemOfKeyCount(keys);
    if (keysText !== undefined) yield { path: ["workspaces", name, "verificationKeys"], message: keysText };
    const path = wirePathOf(workspace["path"] ?? defaultPath(name));
    if (path === undefined) continue;
    const owner = owners.get(path);
    const clash = `must be unique, got ${path}, which ${owner} already uses; choose a different path`;
    if (owner !== undefined) yield { path: ["workspaces", name, "path"], message: clash };
    owners.set(path, `workspace ${name}`);
  }
}

const NO_KEY =
  "must be a key or a non-empty list of keys, got nothing; set it, or derivedFrom and rotations for all workspaces";

const count = (values: unknown): number => [values ?? []].flat().length;

/** Returns a path as a client sends it, or undefined if the value is not a path. */
const wirePathOf = (path: unknown): string | undefined =>
  typeof path === "string" && path.startsWith("/") ? toWirePath(path) : undefined;

export interface WorkspaceConfig extends Pick<FileConfig["workspaces"][string], "subject" | "forwardTo"> {
  /** Its own keys, in addition to the derived ones: see {@link keysOf}. */
  verificationKeys: string[];
  /** The path, such as "/acme", unique among the workspaces. */
  path: string;
}

/** A configuration with keys read and defaults set: `dataDir` is absolute, paths are as a client sends them. */
export interface ServerConfig extends Omit<FileConfig, "workspaces" | "derivedFrom"> {
  workspaces: Record<string, WorkspaceConfig>;
  derivedFrom?: string[] | undefined;
  healthPath: string;
}

export interface LoadedConfig {
  config: ServerConfig;
  /** Things that work but should be fixed, one line each. */
  warnings: string[];
}

/**
 * Reads a configuration file: JSON with the shape of {@link FileConfig}; paths are relative to the file's folder.
 * Throws `invalid_config`, whose message lists everything that is wrong, one line each, and quotes no key.
 */
export async function loadConfig(file: string): Promise<LoadedConfig> {
  const given = await requireConfig(file);
  const problems: FieldProblem[] = [];
  /** What each file contains. */
  const holders = new Map<string, "keys" | "a key">();
  const readKeys = async (field: string, sources: KeySource | KeySource[] = []): Promise<string[]> => {
    const keys: string[] = [];
    for (const source of [sources].flat()) {
      if (typeof source === "string") holders.set(file, "keys");
      else if ("file" in source) holders.set(resolve(dirname(file), source.file), "a key");
      try {
        keys.push(await readKey(source, dirname(file)));
      } catch (error) {
        problems.push({ field, text: (error as Error).message });
      }
    }
    return keys;
  };
  const derivedFrom =
    given.derivedFrom === undefined ? undefined : await readKeys("derivedFrom", given.derivedFrom);
  if (derivedFrom && problems.length === 0) problems.push(...problemsOfDerivation({ derivedFrom }));
  const warnings: string[] = [];
  const workspaces: ServerConfig["workspaces"] = {};
  for await (const [name, workspace] of entriesInSlices(given.workspaces)) {
    const { path = defaultPath(name), forwardTo } = workspace;
    const field = `workspaces.${name}.verificationKeys`;
    const verificationKeys = await readKeys(field, workspace.verificationKeys);
    problems.push(...verificationKeys.flatMap(problemsOfKey).map((text) => ({ field, text })));
    workspaces[name] = { ...workspace, verificationKeys, path: toWirePath(path) };
    if (forwardTo !== undefined && isClearText(forwardTo))
      warnings.push(
        `workspaces.${name}.forwardTo: ${formatUrl(forwardTo)} uses http, so messages are sent unencrypted; use https`,
      );
  }
  if (problems.length > 0) throw invalid(file, problems);
  const config = {
    ...given,
    derivedFrom,
    dataDir: resolve(dirname(file), given.dataDir),
    workspaces,
    healthPath: toWirePath(given.healthPath ?? HEALTH_PATH),
  };
  const ofFiles = [...holders].flatMap(([path, what]) => warningOfMode(path, what) ?? []);
  return { config, warnings: [...ofFiles, ...warnings] };
}

/** Reads a key from the configuration, the environment or a file. */
async function readKey(source: KeySource, folder: string): Promise<string> {
  if (typeof source === "string") return source;
  if ("env" in source) {
    const key = process.env[source.env] ?? "";
    if (key !== "") return key;
    throw new Error(`must be an environment variable that is set, got ${source.env}, which is not`);
  }
  const path = resolve(folder, source.file);
  try {
    // Editors and `echo` end a file with a line break, which is not part of the key.
    return (await readFile(path, "utf8")).replace(/\r?\n$/, "");
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new Error(`must be a file that can be read, got ${path} (${code})`, { cause: error });
  }
}

/**
 * Returns the derived keys, the current one first, then the workspace's own keys. Derives keys only when they are
 * needed, because deriving those of 30,000 workspaces up front would take seconds.
 */
export async function keysOf(
  { workspaces, derivedFrom, rotations = [] }: Pick<ServerConfig, "workspaces" | "derivedFrom" | "rotations">,
  name: string,
): Promise<string[]> {
  const { subject = name, verificationKeys = [] } = workspaces[name] ?? {};
  const derived = derivedFrom ? await deriveVerificationKeys(derivedFrom, { subject, rotations }) : [];
  return [...derived, ...verificationKeys];
}

/** Reads where a configured responder listens and where it keeps deliveries. Reads no keys. Throws `invalid_config`. */
export async function readPlace(
  file: string,
): Promise<Pick<FileConfig, "host" | "port" | "dataDir" | "workspaces">> {
  const config = await requireConfig(file);
  return { ...config, dataDir: resolve(dirname(resolve(file)), config.dataDir) };
}

/** Parses the workspaces one after the other, because 30,000 at once would block for 0.3 s. */
async function requireConfig(file: string): Promise<FileConfig> {
  const given = parseJson(file, await readTextFile(file, "configuration"));
  const values = isMap(given) ? given : {};
  const listed = isMap(values["workspaces"]) ? values["workspaces"] : undefined;
  const top = parse(fileShape, listed ? { ...values, workspaces: {} } : given);
  const problems: FieldProblem[] = [...(top.problems ?? [])];
  const workspaces: FileConfig["workspaces"] = {};
  for await (const [name, workspace] of entriesInSlices(listed ?? {})) {
    const entry = parse(entryShape, { workspaces: { [name]: workspace } });
    Object.assign(workspaces, entry.data?.workspaces);
    problems.push(...(entry.problems ?? []));
  }
  for await (const problem of inSlices(problemsTogether(values)))
    if (problem !== undefined) problems.push({ field: toField(problem.path), text: problem.message });
  if (top.data === undefined || problems.length > 0) throw invalid(file, problems);
  return { ...top.data, workspaces };
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
