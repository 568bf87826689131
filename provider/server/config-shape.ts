import { isIP } from "node:net";
import * as z from "zod";
import type { FieldProblem } from "../errors/index.js";
import { expected, refineWith, problemsOf } from "../lib/validate.js";
import { kindOf, problemOfUrl, WORKSPACE_NAME } from "../lib/checks.js";
import { problemsOfDerivation, type DerivationInputs } from "../responder/derive.js";
import { problemsOfLoops } from "./forward/loops.js";
import { defaultPath, HEALTH_PATH, toWirePath } from "../lib/url.js";

const keySource = z.union(
  [z.string(), z.strictObject({ file: z.string().min(1) }), z.strictObject({ env: z.string().min(1) })],
  {
    // Nothing of what was given is shown: it may be a key in the wrong place.
    error: ({ input }) =>
      `must be a key, { "file": "/run/secrets/key" } or { "env": "NAME" }, got ${kindOf(input)}`,
  },
);

const keysError: z.core.$ZodErrorMap = ({ input }) =>
  `must be a key or a list of at least one, got ${Array.isArray(input) ? describeList(input) : kindOf(input)}; each is a string, { "file": "/run/secrets/key" } or { "env": "NAME" }`;

const PATH_EXAMPLE = 'for example "/acme"';

const path = z
  .string({ error: expected("a path", PATH_EXAMPLE) })
  .startsWith("/", { error: expected('a path that starts with "/"', PATH_EXAMPLE), abort: true })
  // What is behind "?" is not shown: it may be a secret.
  .regex(/^[^?#]*$/, { error: `must be a path without query and fragment; ${PATH_EXAMPLE}`, abort: true })
  .regex(/^\S*$/, { error: expected("a path without whitespace", PATH_EXAMPLE) });

function count(example: number): z.ZodInt {
  const error = expected("a whole number of at least 1", `for example ${example}`);
  return z.int({ error }).min(1, { error });
}

const keys = z.union([keySource, z.array(keySource).min(1, { error: keysError })], { error: keysError });

const asInDerivation = (field: keyof DerivationInputs): ReturnType<typeof refineWith> =>
  refineWith((value) => problemsOfDerivation({ [field]: value }).map(({ text }) => text));

const workspaceShape = z.strictObject({
  verificationKeys: keys.optional(),
  subject: z.string().superRefine(asInDerivation("subject")).optional(),
  path: path.optional(),
  forwardTo: z.string({ error: expected("a URL", 'for example "http://127.0.0.1:3000/"') }).optional(),
});

const HOST_NAME = /^[a-z0-9_-]+(\.[a-z0-9_-]+)*\.?$/i;
const hostError = expected(
  "an address or a host name, without scheme and port",
  'write "127.0.0.1", or "0.0.0.0" for every address',
);

const portError = expected("a whole number from 0 to 65535", "for example 8080, or 0 for any free port");

const folderError = expected("a folder", 'for example "/var/lib/apichat"');

/** The schema of the file. Rules across fields are checked by {@link checkConfig}. */
export const fileShape = z.strictObject({
  host: z
    .string({ error: hostError })
    .refine((text) => isIP(text) > 0 || HOST_NAME.test(text), { error: hostError })
    .default("127.0.0.1"),
  port: z.int({ error: portError }).min(0, { error: portError }).max(65_535, { error: portError }),
  dataDir: z.string({ error: folderError }).min(1, { error: folderError }),
  workspaces: z.record(z.string(), workspaceShape, {
    error: expected("an object of workspaces by name", 'for example { "acme": { "verificationKeys": … } }'),
  }),
  derivedFrom: keys.optional(),
  rotations: z.array(z.string()).superRefine(asInDerivation("rotations")).optional(),
  forwardWithinSeconds: count(86_400).optional(),
  bodyLimitBytes: count(1_048_576).optional(),
  healthPath: path.optional(),
});

/** Where a verification key comes from: the text itself, a file (a container's secret), or a variable of the environment. */
export type KeySource = z.infer<typeof keySource>;

/** A configuration as stored in its file: keys may be references, paths may be missing. */
export interface FileConfig extends z.infer<typeof fileShape> {}

const partialWorkspace = z
  .object({
    verificationKeys: workspaceShape.shape.verificationKeys.catch(undefined),
    subject: workspaceShape.shape.subject.catch(undefined),
    path: workspaceShape.shape.path.catch(undefined),
    forwardTo: workspaceShape.shape.forwardTo.catch(undefined),
  })
  .catch({});

/** Takes out of anything the fields of a configuration that have their shape, so that they can be checked further. */
const soundParts = z
  .object({
    host: fileShape.shape.host.catch("127.0.0.1"),
    port: fileShape.shape.port.optional().catch(undefined),
    workspaces: z.record(z.string(), partialWorkspace).optional().catch(undefined),
    healthPath: fileShape.shape.healthPath.catch(undefined),
  })
  .catch({ host: "127.0.0.1" });

interface SoundParts extends z.infer<typeof soundParts> {}
type Workspaces = NonNullable<SoundParts["workspaces"]>;

/** What a configuration gives, and everything that is wrong with it, but the keys that it only names. */
export interface CheckedConfig {
  /** undefined: its shape is wrong. */
  given: FileConfig | undefined;
  /** The workspaces that can be checked further. */
  workspaces: Workspaces;
  problems: FieldProblem[];
}

/** Checks a configuration. No key, and no query of a URL, is in what it finds. */
export function checkConfig(value: unknown): CheckedConfig {
  const given = fileShape.safeParse(value).data;
  const parts = soundParts.parse(value);
  const ofShape = given === undefined ? problemsOf(fileShape, value) : problemsOfKeys(given);
  return { given, workspaces: parts.workspaces ?? {}, problems: [...ofShape, ...problemsOfParts(parts)] };
}

/** Each workspace has keys of its own, or derived ones, or both. */
function problemsOfKeys({ derivedFrom, rotations, workspaces }: FileConfig): FieldProblem[] {
  const both = 'give derivedFrom and rotations, such as { "env": "KEY_SEED" } and ["2026-12"]';
  if ((derivedFrom === undefined) !== (rotations === undefined)) {
    return [{ field: derivedFrom === undefined ? "derivedFrom" : "rotations", text: `is missing; ${both}` }];
  }
  const withoutKeys = Object.entries(workspaces).filter(
    ([, { verificationKeys }]) => verificationKeys === undefined && derivedFrom === undefined,
  );
  return withoutKeys.map(([name]) => ({
    field: `workspaces.${name}.verificationKeys`,
    text: `must be a key or a list of at least one, got nothing; each is a string, { "file": "/run/secrets/key" } or { "env": "NAME" }; or ${both}`,
  }));
}

/**
 * Rules that the schema cannot express: names, URLs, paths that must differ, and targets that are this responder
 * itself.
 */
function problemsOfParts({ host, port, workspaces, healthPath }: SoundParts): FieldProblem[] {
  if (workspaces === undefined) return [];
  const places = Object.entries(workspaces).map(([name, { path: given, forwardTo }]) => ({
    name,
    path: toWirePath(given ?? defaultPath(name)),
    forwardTo,
  }));
  return [
    ...problemsOfNames(Object.keys(workspaces)),
    ...places.flatMap(({ name, forwardTo }) => {
      const text = forwardTo === undefined ? undefined : problemOfUrl(forwardTo, "http://127.0.0.1:3000/");
      return text === undefined ? [] : [{ field: `workspaces.${name}.forwardTo`, text }];
    }),
    ...problemsOfPaths(places, toWirePath(healthPath ?? HEALTH_PATH)),
    ...(port === undefined ? [] : problemsOfLoops(places, { host, port })),
  ];
}

function problemsOfNames(names: readonly string[]): FieldProblem[] {
  const wrong = names
    .filter((name) => !WORKSPACE_NAME.test(name))
    .map(
      (name) =>
        `a name must be 1 to 64 characters of A-Z, a-z, 0-9, ".", "_", "-", got ${JSON.stringify(name)}`,
    );
  const none = "must have at least one; for example { acme: { verificationKeys: … } }";
  return (names.length === 0 ? [none] : wrong).map((text) => ({ field: "workspaces", text }));
}

function problemsOfPaths(
  places: readonly { name: string; path: string }[],
  healthPath: string,
): FieldProblem[] {
  const owners = new Map([[healthPath, "healthPath"]]);
  return places.flatMap(({ name, path: own }) => {
    const owner = owners.get(own);
    owners.set(own, `workspaces.${name}`);
    if (owner === undefined) return [];
    const text = `must be unique, got ${own}, which ${owner} already uses; choose another`;
    return [{ field: `workspaces.${name}.path`, text }];
  });
}

const describeList = (list: readonly unknown[]): string =>
  list.length === 0 ? "an empty list" : `a list of ${list.map(kindOf).join(", ")}`;
