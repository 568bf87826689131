import { isAbsolute, join, normalize } from "node:path";
import { isDeepStrictEqual } from "node:util";
import {
  checkUrl,
  fail,
  isUnknown,
  onlyKnown,
  kindOf,
  missingSource,
  toDiff,
  type CheckFailure,
  type CheckResult,
  type DiffResult,
  type RawInputs,
  checkVerificationKey,
  warningOfKey,
  UNKNOWN,
  withoutNulls,
} from "../lib/checks.js";
import { renderProblem, type FieldProblem } from "../errors/index.js";
import { deriveVerificationKeys, problemsOfDerivation } from "../responder/derive.js";
import { problemOfKeyCount } from "../responder/keys.js";
import { printLine, printWarning } from "../lib/provider-process.js";
import { checkConfig } from "../server/config-shape.js";
import { choosePort, DEFAULT_HOST, portOfId } from "./addresses.js";
import { isWithin, stateFolder } from "./data-folder.js";
import { declareDataDir } from "./declared.js";
import type { ProcessInputs, ProcessState } from "./inputs.js";
import { markStack } from "./origin.js";

type Values = Record<string, unknown>;

/**
 * Resolves the defaults and gives everything that is wrong at once. Starts and writes nothing. Values that a preview does
 * not know pass.
 */
export async function check(
  olds: Partial<ProcessInputs> | undefined,
  news: RawInputs,
): Promise<CheckResult<ProcessInputs>> {
  const { dataDir, organization, derivedFrom, rotations, subjects, ...rest } = withoutNulls(news);
  const instanceKey = await markStack(String(news["instanceKey"]), organization);
  const inputs: RawInputs = {
    ...rest,
    instanceKey,
    host: rest["host"] ?? DEFAULT_HOST,
    dataDir: dataDir === undefined ? chooseDataDir(olds ?? {}, instanceKey) : normalizeDataDir(dataDir),
  };
  const problems = checkDerivation({ derivedFrom, rotations, subjects });
  if (problems.length === 0 && derivedFrom !== undefined) {
    inputs["verificationKeys"] = await addDerived(inputs, { derivedFrom, rotations, subjects });
  }
  const keys = problems.length > 0 ? [] : keysOf(inputs);
  const failures = [
    ...checkAsConfig(inputs),
    ...problems,
    ...checkKeyCounts(inputs),
    ...keys.flatMap(([field, key]) => checkVerificationKey(field, key)),
    ...checkPublicUrl(inputs["publicUrl"]),
    ...checkDataDir(inputs["dataDir"]),
  ];
  const checked = inputs as unknown as ProcessInputs;
  if (failures.length > 0) return { inputs: checked, failures };
  for (const [field, key] of keys) {
    const warning = warningOfKey(key as string);
    if (warning !== undefined) printWarning(checked.name, `${field} ${warning}`);
  }
  return { inputs: checked, failures: checkDuplicate(checked) };
}

/**
 * The default folder: one per resource, in the user's state folder. A resource keeps its folder there even if the stack
 * or resource is renamed, because it holds the process and undelivered messages.
 */
function chooseDataDir({ dataDir }: Partial<ProcessInputs>, instanceKey: string): string {
  const folder = stateFolder();
  return dataDir !== undefined && isWithin(dataDir, folder) ? dataDir : join(folder, instanceKey);
}

function normalizeDataDir(given: unknown): unknown {
  if (typeof given !== "string" || !isAbsolute(given)) return given;
  return normalize(given).replace(/(?<=.)\/+$/, "");
}

/**
 * Checks the inputs by the rules of the process, because they become its configuration. Values that are unknown in a
 * preview are replaced with valid ones.
 */
function checkAsConfig({ host, port, workspaces }: RawInputs): CheckFailure[] {
  const known = workspaces === UNKNOWN ? { [UNKNOWN]: {} } : ((workspaces ?? {}) as Record<string, Values>);
  const { problems } = checkConfig({
    host,
    port: port === undefined || port === UNKNOWN ? 0 : port,
    // Both have rules of their own here.
    dataDir: UNKNOWN,
    workspaces: Object.fromEntries(
      Object.entries(known).map(([name, { path, forwardTo }]) => [
        name,
        {
          verificationKeys: UNKNOWN,
          path: path === UNKNOWN ? `/${UNKNOWN}/${name}` : path,
          forwardTo,
        },
      ]),
    ),
  });
  return problems.map(toFailure);
}

/** A property that may be secret is not named, because the engine would print its value. */
const toFailure = (problem: FieldProblem): CheckFailure =>
  fail(renderProblem(problem), ["host", "port"].includes(problem.field) ? problem.field : "");

/** Inputs that check replaces with keys; none of them is stored in the state. */
interface Derivation {
  derivedFrom: unknown;
  rotations: unknown;
  subjects: unknown;
}

function checkDerivation({ derivedFrom, rotations, subjects }: Derivation): CheckFailure[] {
  if (derivedFrom === undefined && rotations === undefined) return [];
  if (derivedFrom === undefined)
    return [fail("derivedFrom: is missing, and rotations are given; give both or neither")];
  const ofSubjects = Object.entries((subjects ?? {}) as Values).flatMap(([name, subject = name]) =>
    problemsOfDerivation(onlyKnown({ subject })).map(({ field, text }) => ({
      field: `workspaces.${name}.${field}`,
      text,
    })),
  );
  return [...problemsOfDerivation(onlyKnown({ derivedFrom, rotations })), ...ofSubjects].map(toFailure);
}

/** The keys of each workspace: the derived ones, then the listed ones. */
async function addDerived(
  { workspaces, verificationKeys }: RawInputs,
  { derivedFrom, rotations, subjects }: Derivation,
): Promise<unknown> {
  if (workspaces === UNKNOWN || verificationKeys === UNKNOWN) return UNKNOWN;
  const listed = (verificationKeys ?? {}) as Record<string, string[] | undefined>;
  const named = (subjects ?? {}) as Record<string, string | undefined>;
  const entries = Object.keys((workspaces ?? {}) as Values).map(async (name) => {
    const [own = [], subject = name] = [listed[name], named[name]];
    if ([own, derivedFrom, rotations, subject].some(isUnknown)) return [name, UNKNOWN] as const;
    const given = { subject, rotations: rotations as string[] };
    return [name, [...(await deriveVerificationKeys(derivedFrom as string, given)), ...own]] as const;
  });
  return Object.fromEntries(await Promise.all(entries));
}

/** The keys of each workspace with the name of their input. */
function keyListsOf({ workspaces, verificationKeys }: RawInputs): (readonly [string, unknown[]])[] {
  if (workspaces === UNKNOWN || verificationKeys === UNKNOWN) return [];
  return Object.keys((workspaces ?? {}) as Values).map((name) => {
    const given = (verificationKeys as Values | undefined)?.[name];
    return [`workspaces.${name}.verificationKeys`, [given].flat()] as const;
  });
}

/** The keys with the names of their inputs, `undefined` for a workspace without any. */
const keysOf = (inputs: RawInputs): (readonly [string, unknown])[] =>
  keyListsOf(inputs).flatMap(([field, keys]) => {
    // An empty list is like no key.
    const list = keys.length === 0 ? [undefined] : keys;
    return list.map((key, index) => [list.length === 1 ? field : `${field}[${index}]`, key] as const);
  });

const checkKeyCounts = (inputs: RawInputs): CheckFailure[] =>
  keyListsOf(inputs).flatMap(([field, keys]) => {
    const text = problemOfKeyCount(keys.length);
    return text === undefined ? [] : [toFailure({ field, text })];
  });

function checkPublicUrl(value: unknown): CheckFailure[] {
  if (value === undefined) return checkOnCi();
  const failures = checkUrl("publicUrl", value, "https://tunnel.example");
  if (failures.length > 0 || typeof value !== "string" || !value.includes("?")) return failures;
  return [
    fail(
      'publicUrl: must have no query, because paths are appended to it; for example "https://tunnel.example"',
    ),
  ];
}

/** A CI machine is removed after its job, and the process with it, so the service would get a dead address. */
function checkOnCi(): CheckFailure[] {
  const value = process.env["CI"] ?? "";
  if (["", "0", "false"].includes(value.toLowerCase())) return [];
  return [
    fail(
      "publicUrl: is missing, and the environment variable CI is set: a responder started here ends with the CI job, and cannot be reached at 127.0.0.1. " +
        "Run pulumi up on the machine that is to answer, or give publicUrl, the address of a tunnel or reverse proxy that leads here; " +
        "for a deployment from CI see examples/cloudflare and examples/aws. If this is not a CI machine, set CI=false",
    ),
  ];
}

function checkDataDir(value: unknown): CheckFailure[] {
  if (value === UNKNOWN) return [];
  const hint = "leave it out for a folder in ~/.local/state";
  if (typeof value !== "string" || !isAbsolute(value)) {
    const got = typeof value === "string" ? JSON.stringify(value) : kindOf(value);
    return [fail(`dataDir: must be an absolute path, got ${got}; ${hint}`, "dataDir")];
  }
  if (!isWithin(value, process.cwd())) return [];
  return [
    fail(
      `dataDir: must be outside the program's folder, got ${JSON.stringify(value)}: it holds keys and messages, and would be committed or published with the program; name another one, such as /var/lib/apichat`,
      "dataDir",
    ),
  ];
}

function checkDuplicate({ name, dataDir }: ProcessInputs): CheckFailure[] {
  if (dataDir === UNKNOWN) return [];
  const other = declareDataDir(dataDir, name);
  if (other === undefined) return [];
  // The engine checks them in any order.
  const names = [other, name].toSorted().map((one) => `"${one}"`);
  return [
    fail(
      `dataDir: ${names.join(" and ")} share ${dataDir}, and a folder belongs to one process; give one of them its own`,
    ),
  ];
}

const COMPARED = ["workspaces", "verificationKeys", "host", "publicUrl", "dataDir"] as const;

/**
 * Whether update has something to do. Updates are always in place. Whether the process has ended is not inspected here,
 * because a preview asks nothing but the state: refresh does.
 */
export function diff(id: string, state: ProcessState, inputs: ProcessInputs): DiffResult {
  const changed = COMPARED.filter((name) => !isDeepStrictEqual(state[name], inputs[name]));
  if (changed.includes("verificationKeys")) printChangedKeys(state, inputs);
  const hasMoved = choosePort(inputs.port, portOfId(id)) !== state.port;
  const restarts = [...(hasMoved ? ["port"] : []), ...(state.isLost ? ["pid"] : [])];
  return toDiff([...changed, ...restarts, ...missingSource(state, inputs)]);
}

/** A preview shows a changed secret as `[secret]` on both sides. */
function printChangedKeys(state: ProcessState, { name, verificationKeys }: ProcessInputs): void {
  for (const [workspace, keys] of Object.entries(verificationKeys)) {
    if (isDeepStrictEqual(state.verificationKeys[workspace], keys)) continue;
    printLine(name, `verificationKeys of ${workspace} ${isUnknown(keys) ? "may change" : "change"}`);
  }
}
