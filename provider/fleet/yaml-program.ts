import { SECRET_PROPERTIES } from "../pulumi/resource-inputs.js";
import { mayHoldQuery } from "../lib/url.js";
import type { KeyArguments, WebhookArguments } from "./definition.js";

// The program of a stack, in YAML: with Node and the SDK, a stack would be twice as expensive to run.

export interface YamlProgram {
  variables: Record<string, unknown>;
  resources: Record<string, unknown>;
  outputs: Record<string, unknown>;
}

export const outputsProgram = (outputs: Record<string, unknown>): YamlProgram => ({
  variables: {},
  resources: {},
  outputs: escape(outputs) as Record<string, unknown>,
});

/**
 * `rotation` rotates random keys. Labels within the program are numbered, because YAML may parse a workspace's
 * name as a number, for example. Secrets are variables, because the YAML host's errors quote properties.
 */
export function toYaml(
  webhooks: Iterable<readonly [workspace: string, WebhookArguments]>,
  rotation?: string,
): YamlProgram {
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
  for (const [index, [name, { webhookVerificationKey: key, ...args }]] of [...webhooks].entries()) {
    if (typeof key !== "string") {
      resources[`key${index}`] = {
        type: "apichat:VerificationKey",
        name,
        properties: propertiesOf(toKeyInputs(key, rotation)),
      };
    }
    const webhookVerificationKey = typeof key === "string" ? hide(key) : `\${key${index}.current}`;
    const properties = { ...propertiesOf(args), webhookVerificationKey };
    resources[`webhook${index}`] = { type: "apichat:ApiChatWebhook", name, properties };
    botUrls[name] = `\${webhook${index}.botUrl}`;
  }
  return { variables, resources, outputs: { botUrls } };
}

/** In the schema, the seeds are a list. Only random keys have the input `rotation`. */
function toKeyInputs({ derivedFrom, ...args }: KeyArguments, rotation: string | undefined): object {
  if (derivedFrom === undefined) return { ...args, rotation };
  return { ...args, derivedFrom: [derivedFrom].flat() };
}

const SECRETS = new Set<string>([...SECRET_PROPERTIES.ApiChatWebhook, ...SECRET_PROPERTIES.VerificationKey]);

/** A query may hold a token. */
const isSecret = (name: string, value: unknown): boolean =>
  value !== undefined &&
  (SECRETS.has(name) || (["webhookUrl", "baseUrl"].includes(name) && mayHoldQuery(value)));

/** Escapes what Pulumi's YAML would read as a reference, so that it reads each string as it is. */
function escape(value: unknown): unknown {
  if (typeof value === "string") return value.replaceAll("${", () => "$${");
  if (Array.isArray(value)) return value.map(escape);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, escape(one)]));
}
