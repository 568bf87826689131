import { isAbsolute, join, resolve } from "node:path";
import { isDeepStrictEqual } from "node:util";
import * as z from "zod";
import { stateFolder } from "../lib/files.js";
import { problemOfUrl } from "../lib/url.js";
import { expected, onAnyObject, validatedBy } from "../lib/validate.js";
import { isMap } from "../lib/values.js";
import {
  type CheckResult,
  type DiffResult,
  type RawInputs,
  missingSource,
  problemsOfKnown,
  toDiff,
  toFailures,
} from "../pulumi/check-and-diff.js";
import { UNKNOWN, isUnknown } from "../pulumi/unknown.js";
import { DERIVATION_RULES, deriveVerificationKeys, verificationKeyShape } from "../responder/key-rules.js";
import { DEFAULT_HOST, defaultPath } from "../server/addresses.js";
import { fileShape, rejectTogether, workspacesShape } from "../server/remote.js";
import { portOfId } from "./addresses.js";
import { isWithin } from "./data-folder.js";
import type { ProcessInputs, ProcessState } from "./inputs.js";
import { markStack } from "./origin.js";

type Values = Record<string, unknown>;

const folderError = expected("an absolute path", "leave it out for a folder in ~/.local/state");

const dataDir = z
  .string({ error: folderError })
  .refine(isAbsolute, { error: folderError, abort: true })
  .refine((path) => !isWithin(path, process.cwd()), {
    error: ({ input }) =>
      `must be outside the program's folder, got ${JSON.stringify(input)}: the keys and messages in dataDir ` +
      "would be committed or published with the program; name another folder, such as /var/lib/apichat",
  });

const PUBLIC_URL = "https://tunnel.example";

const publicUrl = validatedBy((value) => {
  const problem = problemOfUrl(value, PUBLIC_URL);
  if (problem !== undefined || !String(value).includes("?")) return problem;
  return `must have no query, because paths are appended to it; for example "${PUBLIC_URL}"`;
});

const ofFile = fileShape.shape;

const workspaceShape = ofFile.workspaces.valueType.extend({
  verificationKeys: z
    .preprocess((value) => (typeof value === "string" ? [value] : value), z.array(verificationKeyShape()))
    .optional(),
});

/** The schema of the inputs with their defaults. It is applied to the values that a preview knows. */
const SHAPE = z
  .object({
    host: ofFile.host,
    port: ofFile.port.optional(),
    workspaces: workspacesShape(workspaceShape),
    derivedFrom: validatedBy(DERIVATION_RULES.derivedFrom).optional(),
    rotations: validatedBy(DERIVATION_RULES.rotations).optional(),
    publicUrl: publicUrl.optional(),
    dataDir,
  })
  .superRefine(rejectTogether, onAnyObject)
  .superRefine(requirePublicUrl, onAnyObject);

const SECRETS = ["workspaces", "derivedFrom", "rotations", "publicUrl"];

/** A CI machine and its processes end with the job, so the service would be left with a dead address. */
function requirePublicUrl(inputs: { publicUrl?: unknown }, context: z.RefinementCtx): void {
  const value = process.env["CI"] ?? "";
  if (inputs.publicUrl !== undefined || ["", "0", "false"].includes(value.toLowerCase())) return;
  context.addIssue({
    code: "custom",
    path: ["publicUrl"],
    message:
      "is missing, and the environment variable CI is set: a responder started here ends with the CI job, " +
      "and cannot be reached at 127.0.0.1. " +
      "Run pulumi up on the machine that is to run the responder, or give publicUrl, " +
      "the address of a tunnel or reverse proxy that forwards here; " +
      "for a deployment from CI see examples/cloudflare and examples/aws. If this is not a CI machine, set CI=false",
  });
}

/** Has no side effects. Accepts values that are unknown in a preview. */
export async function check(
  olds: Partial<ProcessInputs> | undefined,
  news: RawInputs,
): Promise<CheckResult<ProcessInputs>> {
  const { organization, derivedFrom, rotations, ...given } = news;
  const instanceKey = await markStack(String(given["instanceKey"]), organization);
  const folder = given["dataDir"] ?? chooseDataDir(olds ?? {}, instanceKey);
  const inputs = {
    ...given,
    instanceKey,
    host: given["host"] ?? DEFAULT_HOST,
    dataDir: typeof folder === "string" && isAbsolute(folder) ? resolve(folder) : folder,
  };
  const problems = problemsOfKnown(SHAPE, { ...inputs, derivedFrom, rotations });
  if (problems.length > 0)
    return { inputs: inputs as unknown as ProcessInputs, failures: toFailures(problems, SECRETS) };
  const workspaces = await resolveWorkspaces(given["workspaces"], { derivedFrom, rotations });
  return { inputs: { ...inputs, workspaces } as unknown as ProcessInputs, failures: [] };
}

/**
 * A resource keeps its default folder even if the stack or resource is renamed: the folder belongs to the
 * process, and contains deliveries that are not forwarded yet.
 */
function chooseDataDir({ dataDir: previous }: Partial<ProcessInputs>, instanceKey: string): string {
  const parent = stateFolder();
  return previous !== undefined && isWithin(previous, parent) ? previous : join(parent, instanceKey);
}

type Derivation = Pick<Values, "derivedFrom" | "rotations">;

async function resolveWorkspaces(workspaces: unknown, derivation: Derivation): Promise<unknown> {
  if (!isMap(workspaces)) return workspaces;
  const entries = Object.entries(workspaces).map(async ([name, one]) => {
    if (!isMap(one)) return [name, one] as const;
    const { subject = name, verificationKeys = [], ...rest } = one;
    const keys = await resolveKeys(verificationKeys, { subject, ...derivation });
    return [name, { path: defaultPath(name), ...rest, verificationKeys: keys }] as const;
  });
  return Object.fromEntries(await Promise.all(entries));
}

/** Returns the derived keys, followed by the given ones; the state contains neither seed nor subject. */
async function resolveKeys(
  given: unknown,
  { subject, derivedFrom, rotations }: Derivation & { subject: unknown },
): Promise<unknown> {
  const own = given === UNKNOWN ? UNKNOWN : [given as string | string[]].flat();
  if (derivedFrom === undefined) return own;
  if ([own, derivedFrom, rotations, subject].some(isUnknown)) return UNKNOWN;
  const options = { subject: subject as string, rotations: rotations as string[] };
  return (await deriveVerificationKeys(derivedFrom as string, options)).concat(own);
}

const COMPARED = ["workspaces", "host", "publicUrl", "dataDir"] as const;

/** Compares the inputs only with the state: a refresh finds out whether the process has ended. */
export function diff(id: string, state: ProcessState, inputs: ProcessInputs): DiffResult {
  const changed = COMPARED.filter((name) => !isDeepStrictEqual(state[name], inputs[name]));
  const hasMoved = (inputs.port || portOfId(id)) !== state.port;
  return toDiff([...changed, ...(hasMoved ? ["port"] : []), ...missingSource(state, inputs)]);
}
