import { checkUrl, type CheckFailure } from "../resource/checks.js";
import type { SoundParts } from "./config-shape.js";
import { problemsOfLoops } from "./forward/loops.js";
import { defaultPath, HEALTH_PATH, WORKSPACE_NAME } from "./names.js";

type Workspaces = NonNullable<SoundParts["workspaces"]>;

/** What the shape of each field cannot tell, one line each: names, URLs, paths that must differ, targets that are itself. */
export function problemsOfParts({ host, port, workspaces, healthPath }: SoundParts): string[] {
  if (workspaces === undefined) return [];
  const places = Object.entries(workspaces).map(([name, { path, forwardTo }]) => ({
    name,
    path: toWirePath(path ?? defaultPath(name)),
    forwardTo,
  }));
  return [
    ...problemsOfNames(Object.keys(workspaces)),
    ...problemsOfTargets(workspaces),
    ...problemsOfPaths(places, toWirePath(healthPath ?? HEALTH_PATH)),
    ...(port === undefined ? [] : problemsOfLoops(places, { host, port })),
  ];
}

/** A path as a client sends it: what is not ASCII in percent encoding. */
export const toWirePath = (path: string): string => new URL(`http://localhost${path}`).pathname;

export const reasonsOf = (failures: readonly CheckFailure[]): string[] =>
  failures.map(({ reason }) => reason);

function problemsOfNames(names: readonly string[]): string[] {
  if (names.length === 0) return ['workspaces: must have at least one; write for example { "acme": { … } }'];
  return names
    .filter((name) => !WORKSPACE_NAME.test(name))
    .map(
      (name) =>
        `workspaces: a name must be 1 to 64 of A-Z, a-z, 0-9, ".", "_", "-", got ${JSON.stringify(name)}`,
    );
}

const problemsOfTargets = (workspaces: Workspaces): string[] =>
  Object.entries(workspaces).flatMap(([name, { forwardTo }]) =>
    forwardTo === undefined
      ? []
      : reasonsOf(checkUrl(`workspaces.${name}.forwardTo`, forwardTo, "http://127.0.0.1:3000/")),
  );

function problemsOfPaths(places: readonly { name: string; path: string }[], healthPath: string): string[] {
  const owners = new Map([[healthPath, "healthPath"]]);
  return places.flatMap(({ name, path }) => {
    const owner = owners.get(path);
    owners.set(path, `workspaces.${name}`);
    if (owner === undefined) return [];
    return [
      `workspaces.${name}.path: must be a path of its own, got ${path}, which is that of ${owner}; give another`,
    ];
  });
}
