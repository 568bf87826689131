import { toWireLine } from "../lib/provider-process.js";
import { writePrivateFile } from "../lib/files.js";
import { SECRET_PROPERTIES } from "../lib/secret-properties.js";
import { mayHoldQuery } from "../lib/url.js";
import { declareStack, isResource, ProgramError, readProgramFile, type ProgramRun } from "./declare.js";
import type { Declared, KeyArguments } from "./definition.js";

// The program of a stack on the resource plugin, in YAML: the engine then loads neither Node nor the SDK for it, which is more than
// half of what a stack costs.

/** What a Pulumi program in YAML has. */
interface YamlProgram {
  variables: Record<string, unknown>;
  resources: Record<string, unknown>;
  outputs: Record<string, unknown>;
}

/** What a process of its own does for each run of a stack: calls the user's program, and writes its YAML to the file of this path. */
export async function writeYamlProgram(path: string): Promise<void> {
  const file = readProgramFile();
  try {
    const program = "outputs" in file ? { outputs: escape(file.outputs) } : await yamlOfStack(file);
    await writePrivateFile(path, JSON.stringify(program, undefined, 1));
  } catch (error) {
    process.exitCode = 1;
    console.error(error instanceof ProgramError ? `error: ${error.message}` : error);
  }
}

async function yamlOfStack(run: ProgramRun): Promise<YamlProgram> {
  const declared = await declareStack(run).catch(explainResource);
  const program = toYaml(declared);
  const random = run.refuseRandomKeys ? Object.entries(declared).find(hasRandomKey) : undefined;
  if (random === undefined) return program;
  console.log(toWireLine({ randomKey: random[0] }));
  throw new ProgramError(`${random[0]}: a random key is not made without checkpoints`);
}

const ARGUMENTS =
  'with provider: "plugin", return plain arguments instead of resources: { acme: { baseUrl, webhookUrl, webhookVerificationKey } }';

/** The SDK's own error of a resource that is made without an engine. */
function explainResource(error: unknown): never {
  const isOfSdk = typeof error === "object" && error !== null && "__pulumiRunError" in error;
  throw isOfSdk ? new ProgramError(ARGUMENTS) : error;
}

const hasRandomKey = ([, one]: [string, Declared]): boolean =>
  !isResource(one) &&
  typeof one.webhookVerificationKey === "object" &&
  one.webhookVerificationKey.derivedFrom === undefined;

/**
 * A key and a webhook for each workspace. The labels within the program are numbers: YAML could read a name as something else.
 * Secrets are variables, because Pulumi's YAML errors quote the line of a property with its value.
 */
export function toYaml(declared: Record<string, Declared>): YamlProgram {
  const variables: Record<string, unknown> = {};
  const labels = new Map<string, string>();
  const hide = (value: unknown): string => {
    const id = JSON.stringify(value);
    const label = labels.get(id) ?? `secret${labels.size}`;
    labels.set(id, label);
    variables[label] = { "fn::secret": escape(value) };
    return `\${${label}}`;
  };
  const propertiesOf = (args: object): Record<string, unknown> =>
    Object.fromEntries(
      Object.entries(args).map(([name, value]: [string, unknown]) => [
        name,
        isSecret(name, value) ? hide(value) : escape(value),
      ]),
    );
  const resources: Record<string, unknown> = {};
  const botUrls: Record<string, string> = {};
  const statuses: Record<string, string> = {};
  for (const [index, [name, one]] of Object.entries(declared).entries()) {
    if (isResource(one)) throw new ProgramError(ARGUMENTS);
    const { webhookVerificationKey: key, ...args } = requirePlain(name, one);
    if (typeof key !== "string") {
      resources[`key${index}`] = {
        type: "apichat:VerificationKey",
        name,
        properties: propertiesOf(toKeyInputs(key)),
      };
    }
    const webhookVerificationKey = typeof key === "string" ? hide(key) : `\${key${index}.current}`;
    const properties = { ...propertiesOf(args), webhookVerificationKey };
    resources[`webhook${index}`] = { type: "apichat:ApiChatWebhook", name, properties };
    botUrls[name] = `\${webhook${index}.botUrl}`;
    statuses[name] = `\${webhook${index}.status}`;
  }
  return { variables, resources, outputs: { botUrls, statuses } };
}

/** The schema knows a list of seeds only. */
const toKeyInputs = ({ derivedFrom, ...args }: KeyArguments): object =>
  typeof derivedFrom === "string" ? { ...args, derivedFrom: [derivedFrom] } : { ...args, derivedFrom };

const SECRETS = new Set<string>([...SECRET_PROPERTIES.ApiChatWebhook, ...SECRET_PROPERTIES.VerificationKey]);

/** A query may hold a token. */
const isSecret = (name: string, value: unknown): boolean =>
  value !== undefined &&
  (SECRETS.has(name) || (["webhookUrl", "baseUrl"].includes(name) && mayHoldQuery(value)));

/** An Output of the SDK has no value here. */
function requirePlain<T extends object>(name: string, value: T, path: readonly string[] = []): T {
  for (const [key, one] of Object.entries(value) as [string, unknown][]) {
    const here = Array.isArray(value) ? path : [...path, key];
    if (typeof one !== "object" || one === null) continue;
    if (!Array.isArray(one) && Object.getPrototypeOf(one) !== Object.prototype) {
      throw new ProgramError(`${name}: ${here.join(".")} must be a plain value, and no Output; ${ARGUMENTS}`);
    }
    requirePlain(name, one, here);
  }
  return value;
}

/** Texts as they are, also those that YAML would take for a reference. */
function escape(value: unknown): unknown {
  if (typeof value === "string") return value.replaceAll("${", () => "$${");
  if (Array.isArray(value)) return value.map(escape);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, escape(one)]));
}
