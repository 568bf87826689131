import { checkUrl, fail, kindOf, type CheckFailure } from "../resource/checks.js";
import { checkVerificationKey, warnOfShortKey } from "../resource/key-check.js";
import { UNKNOWN } from "../resource/unknown.js";
import { HEALTH_PATH, WORKSPACE_NAME } from "../server/names.js";

type Values = Record<string, unknown>;

/** Looks at the workspaces and their keys. Values that a preview does not know pass. */
export function checkWorkspaces(workspaces: unknown, keys: unknown): CheckFailure[] {
  if (workspaces === UNKNOWN) return [];
  const entries = Object.entries((workspaces ?? {}) as Values);
  if (entries.length === 0) {
    return [
      fail("workspaces: must name at least one, got none; write { acme: { verificationKeys: key.keys } }"),
    ];
  }
  return [
    ...entries.flatMap(([name, workspace]) => checkWorkspace(name, workspace as Values)),
    ...entries.flatMap(([name]) => checkKeys(name, keys)),
    ...checkUnique(entries.map(([name, workspace]) => [name, (workspace as Values)["path"]])),
  ];
}

function checkWorkspace(name: string, { path, forwardTo }: Values): CheckFailure[] {
  return [
    ...checkName(name),
    ...checkPath(`workspaces.${name}.path`, path),
    ...(forwardTo === undefined
      ? []
      : checkUrl(`workspaces.${name}.forwardTo`, forwardTo, "http://127.0.0.1:3000/apichat")),
  ];
}

function checkName(name: string): CheckFailure[] {
  if (WORKSPACE_NAME.test(name)) return [];
  return [
    fail(
      `workspaces: a name must be 1 to 64 of A-Z, a-z, 0-9, ".", "_", "-", got ${JSON.stringify(name)}; rename it, and give its path as path`,
    ),
  ];
}

function checkPath(property: string, path: unknown): CheckFailure[] {
  if (path === UNKNOWN) return [];
  const example = 'write for example "/acme"';
  if (typeof path !== "string") {
    return [fail(`${property}: must be a string, got ${kindOf(path)}; ${example}`, property)];
  }
  const got = JSON.stringify(path.length > 100 ? `${path.slice(0, 100)}…` : path);
  if (!path.startsWith("/"))
    return [fail(`${property}: must begin with "/", got ${got}; ${example}`, property)];
  if (/[?#]/.test(path)) {
    return [fail(`${property}: must have no query and no fragment; ${example}`)];
  }
  const asCalled = URL.canParse(path, ORIGIN) ? new URL(path, ORIGIN) : undefined;
  if (asCalled?.pathname !== path) {
    const hint = asCalled?.origin === ORIGIN ? `write ${JSON.stringify(asCalled.pathname)}` : example;
    return [fail(`${property}: must be written as in a URL, got ${got}; ${hint}`, property)];
  }
  if (path === HEALTH_PATH) {
    return [
      fail(`${property}: must not be ${got}, which answers for the process's health; ${example}`, property),
    ];
  }
  return [];
}

const ORIGIN = "http://path.invalid";

function checkUnique(paths: (readonly [string, unknown])[]): CheckFailure[] {
  const first = new Map<unknown, string>();
  const failures: CheckFailure[] = [];
  for (const [name, path] of paths) {
    if (path === UNKNOWN) continue;
    const other = first.get(path);
    if (other === undefined) first.set(path, name);
    else failures.push(describeTwin(name, other, path));
  }
  return failures;
}

function describeTwin(name: string, other: string, path: unknown): CheckFailure {
  const property = `workspaces.${name}.path`;
  return fail(
    `${property}: must be its own, got ${JSON.stringify(path)} for ${other} too; the path tells whose keys apply: give it another`,
    property,
  );
}

function checkKeys(name: string, keys: unknown): CheckFailure[] {
  const list = keysOf(name, keys);
  if (list.length > 0) return list.flatMap(([input, key]) => checkVerificationKey(input, key));
  return [fail(`${inputOf(name)}: must hold at least one key, got an empty list`)];
}

/** Says which keys are short enough to be guessed. For keys that have passed. */
export function warnOfShortKeys(resource: string, keys: Values): void {
  for (const workspace of Object.keys(keys)) {
    for (const [input, key] of keysOf(workspace, keys)) warnOfShortKey(resource, input, key as string);
  }
}

/** The keys of a workspace with the names of their inputs; a value that a preview does not know is one. */
function keysOf(workspace: string, keys: unknown): (readonly [string, unknown])[] {
  const given = keys === UNKNOWN ? UNKNOWN : (keys as Values | undefined)?.[workspace];
  const list = Array.isArray(given) ? (given as unknown[]) : [given];
  const input = inputOf(workspace);
  return list.map((key, index) => [list.length === 1 ? input : `${input}[${index}]`, key]);
}

const inputOf = (workspace: string): string => `workspaces.${workspace}.verificationKeys`;
