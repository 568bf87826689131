import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { isIP, isIPv6 } from "node:net";
import { hostname, networkInterfaces } from "node:os";
import { dirname, resolve } from "node:path";
import { isDeepStrictEqual } from "node:util";
import * as z from "zod";
import { ApiChatError, renderProblem, type FieldProblem } from "../errors/index.js";
import { isClearText, kindOf, problemsOfKey, WORKSPACE_NAME } from "../lib/checks.js";
import { readTextFile, warningOfMode } from "../lib/files.js";
import { createRedactor, type Redact } from "../lib/redact.js";
import { formatUrl, DEFAULT_HOST, defaultPath, HEALTH_PATH, toWirePath } from "../lib/url.js";
import { expected, httpUrl, onAnyObject, parse, refineWith, showName, validatedBy } from "../lib/validate.js";
import { DERIVATION_RULES, deriveVerificationKeys, problemsOfDerivation } from "../responder/derive.js";
import { problemOfKeyCount } from "../responder/keys.js";
import type { Address } from "./listener.js";

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
  `must be a key or a list of at least one, got ${Array.isArray(input) ? describeList(input) : kindOf(input)}; each is a string, { "file": "/run/secrets/key" } or { "env": "NAME" }`;

const PATH_EXAMPLE = 'for example "/acme"';

const pathShape = z
  .string({ error: expected("a path", PATH_EXAMPLE) })
  .startsWith("/", { error: expected('a path that starts with "/"', PATH_EXAMPLE), abort: true })
  // The query is not shown: it may be a secret.
  .regex(/^[^?#]*$/, { error: `must be a path without query and fragment; ${PATH_EXAMPLE}`, abort: true })
  .regex(/^\S*$/, { error: expected("a path without whitespace", PATH_EXAMPLE) });

function positive(example: number): z.ZodInt {
  const error = expected("a whole number of at least 1", `for example ${example}`);
  return z.int({ error }).min(1, { error });
}

const keysShape = z.union([keySource, z.array(keySource).min(1, { error: keysError })], { error: keysError });

/** The fields of a workspace in a configuration file and in the arguments of a `HandshakeResponder`. */
export const workspaceFields = {
  subject: validatedBy<string>(DERIVATION_RULES.subject).optional(),
  path: pathShape.optional(),
  forwardTo: httpUrl("http://127.0.0.1:3000/").optional(),
};

const workspaceShape = z.strictObject({ verificationKeys: keysShape.optional(), ...workspaceFields });

const HOST_NAME = /^[a-z0-9_-]+(\.[a-z0-9_-]+)*\.?$/i;
const hostError = expected(
  "an address or a host name, without scheme and port",
  'write "127.0.0.1", or "0.0.0.0" for every address',
);

const portError = expected("a whole number from 0 to 65535", "for example 8080, or 0 for any free port");

const folderError = expected("a folder", 'for example "/var/lib/apichat"');

export const hostShape = z
  .string({ error: hostError })
  .refine((text) => isIP(text) > 0 || HOST_NAME.test(text), { error: hostError })
  .default(DEFAULT_HOST);

export const portShape = z
  .int({ error: portError })
  .min(0, { error: portError })
  .max(65_535, { error: portError });

/** Workspaces by name, each of this shape. */
export const workspacesOf = <Shape extends z.ZodType>(shape: Shape): z.ZodRecord<z.ZodString, Shape> =>
  z.record(z.string(), shape, {
    error: ({ input }) =>
      `must be an object of workspaces by name, got ${kindOf(input)}; for example { acme: { verificationKeys: … } }`,
  });

/** The shape of the configuration file. */
export const fileShape = z
  .strictObject({
    host: hostShape,
    port: portShape,
    dataDir: z.string({ error: folderError }).min(1, { error: folderError }),
    workspaces: workspacesOf(workspaceShape),
    derivedFrom: keysShape.optional(),
    rotations: validatedBy<string[]>(DERIVATION_RULES.rotations).optional(),
    forwardWithinSeconds: positive(86_400).optional(),
    bodyLimitBytes: positive(1_048_576).optional(),
    healthPath: pathShape.optional(),
  })
  .superRefine(refuseTogether, onAnyObject);

/** Where a verification key comes from: the string itself, a file (a container's secret), or an environment variable. */
type KeySource = z.infer<typeof keySource>;

/** A configuration as stored in its file: keys may be references, paths may be missing. */
export interface FileConfig extends z.infer<typeof fileShape> {}

/** Rejects problems of several fields: missing keys, equal paths, targets that are the responder itself. */
export function refuseTogether(
  { host, port, healthPath, derivedFrom, rotations, workspaces }: Record<string, unknown>,
  context: z.RefinementCtx,
): void {
  const report = (path: string[], message: string): void =>
    context.addIssue({ code: "custom", path, message });
  if ((derivedFrom === undefined) !== (rotations === undefined)) {
    const missing = derivedFrom === undefined ? "derivedFrom" : "rotations";
    report([missing], "is missing; give both derivedFrom and rotations, or neither");
  }
  if (typeof workspaces !== "object" || workspaces === null) return;
  const derived = count(derivedFrom) * Math.max(1, count(rotations));
  const places = Object.entries(workspaces).map(([name, one]) => placeOf(name, one));
  const owners = new Map([[toWirePath(validOf(pathShape, healthPath) ?? HEALTH_PATH), "healthPath"]]);
  if (places.length === 0)
    report(["workspaces"], "must have at least one; for example { acme: { verificationKeys: … } }");
  for (const { name, path, keys } of places) {
    const keysText = derived + keys === 0 ? NO_KEY : problemOfKeyCount(derived + keys);
    if (keysText !== undefined) report(["workspaces", name, "verificationKeys"], keysText);
    if (!WORKSPACE_NAME.test(name))
      report(
        ["workspaces"],
        `a name must be 1 to 64 characters of A-Z, a-z, 0-9, ".", "_", "-", got ${showName(name)}`,
      );
    const owner = owners.get(path);
    const clash = `must be unique, got ${path}, which ${owner} already uses; choose another`;
    if (owner !== undefined) report(["workspaces", name, "path"], clash);
    if (path !== "") owners.set(path, `workspaces.${name}`);
  }
  const address = { host: validOf(hostShape, host) ?? DEFAULT_HOST, port: validOf(portShape, port) };
  for (const { name, text } of problemsOfLoops(places, address))
    report(["workspaces", name, "forwardTo"], text);
}

const NO_KEY =
  "must be a key or a list of at least one, got nothing; give one, or derivedFrom and rotations for all workspaces";

const validOf = <T>(shape: z.ZodType<T>, value: unknown): T | undefined => shape.safeParse(value).data;

const count = (values: unknown): number => [values ?? []].flat().length;

interface Place {
  name: string;
  /** Empty if it is invalid or not known in a preview. */
  path: string;
  forwardTo?: string | undefined;
  keys: number;
}

function placeOf(name: string, workspace: unknown): Place {
  // Reported as not a workspace, and not as one without keys.
  if (typeof workspace !== "object" || workspace === null || Array.isArray(workspace))
    return { name, path: "", keys: 1 };
  const given = workspace as { [Field in keyof FileConfig["workspaces"][string]]: unknown };
  const path = validOf(workspaceFields.path.default(defaultPath(name)), given.path);
  return {
    name,
    path: path === undefined ? "" : toWirePath(path),
    forwardTo: validOf(workspaceFields.forwardTo, given.forwardTo),
    keys: count(given.verificationKeys),
  };
}

const describeList = (list: readonly unknown[]): string =>
  list.length === 0 ? "an empty list" : `a list of ${list.map(kindOf).join(", ")}`;

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
  /** The keys of all workspaces, and their seeds. */
  secrets: string[];
  /** Redacts the secrets in a text. */
  redact: Redact;
}

/**
 * Reads a responder's configuration file: JSON of the shape of {@link ServerConfig}, where `verificationKeys` may also be
 * one key, a key may be `{ "file": path }` or `{ "env": name }`, `path` may be left out, and paths of files are relative
 * to the folder of the configuration. Throws `invalid_config` with everything that is wrong, one line each, without keys.
 * The redactor of the former configuration is kept if it has the same secrets: with 10,000 keys another takes a second.
 */
export async function loadConfig(file: string, former?: LoadedConfig): Promise<LoadedConfig> {
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
  const secrets = [...keys.seeds, ...[...keys.byWorkspace.values()].flat()];
  const isSame = former !== undefined && isDeepStrictEqual(former.secrets, secrets);
  return {
    config,
    digest: createHash("sha256").update(text).digest("hex"),
    warnings: [...warnOfModes(file, given, folder), ...warnOfClearText(config)],
    secrets,
    redact: isSame ? former.redact : createRedactor(secrets),
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

/** Where a configuration keeps its deliveries, and of which workspaces. */
export interface ConfiguredPlace {
  dataDir: string;
  workspaces: string[];
}

/** Reads the place of a configuration, without its keys. Throws `invalid_config`. */
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

/** Returns a warning for each file with keys that other users can read. */
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

const HTTP_PORT = 80;

/** Where a responder listens. The port is undefined if any free one will do, or if it is not known yet. */
interface ReachedAddress {
  host: string;
  port: number | undefined;
}

/** Returns the workspaces that forward to a path of the responder itself: a delivery would go round without end. */
function problemsOfLoops(
  places: readonly Pick<Place, "name" | "path" | "forwardTo">[],
  address: ReachedAddress,
): { name: string; text: string }[] {
  const owners = new Map(places.map(({ name, path }) => [path, name]));
  return places.flatMap(({ name, forwardTo }) => {
    if (forwardTo === undefined || !reachesAddress(forwardTo, address)) return [];
    const owner = owners.get(new URL(forwardTo).pathname);
    if (owner === undefined) return [];
    const got = `${formatUrl(forwardTo)}, which is this responder's own workspace ${owner}`;
    const text = `must be the URL of your own program, got ${got}; give another, or leave it out to keep deliveries`;
    return [{ name, text }];
  });
}

/** Whether a URL, called on this machine, reaches what listens on an address there. */
export function reachesAddress(url: string, address: ReachedAddress): boolean {
  const parsed = URL.parse(url);
  if (parsed === null) return false;
  const { protocol, port, hostname: called } = parsed;
  if (protocol !== "http:" || Number(port || HTTP_PORT) !== address.port) return false;
  return isReachedAt(toUrlHost(address.host), called);
}

/** Returns a host as a URL spells it. */
function toUrlHost(host: string): string {
  return URL.parse(`http://${isIPv6(host) ? `[${host}]` : host}`)?.hostname ?? host;
}

/** The spellings of "every address of this machine", which programs on it may also call. */
const WILDCARD = /^(0\.0\.0\.0|\[::\]|\[::ffff:0:0\])$/;
const LOOPBACK = /^(localhost\.?|127\.0\.0\.1|\[::1\]|\[::ffff:7f00:1\])$/;

/** Whether a program on this machine that calls one host reaches what listens on another. */
function isReachedAt(listening: string, called: string): boolean {
  if (listening === called) return true;
  if (isOfLoopback(listening) && isOfLoopback(called)) return true;
  return WILDCARD.test(listening) && isOfThisMachine(called);
}

const isOfLoopback = (host: string): boolean => WILDCARD.test(host) || LOOPBACK.test(host);

function isOfThisMachine(host: string): boolean {
  if (host.startsWith("127.") || host === hostname().toLowerCase()) return true;
  return Object.values(networkInterfaces()).some((addresses) =>
    addresses?.some(({ address }) => toUrlHost(address) === host),
  );
}
