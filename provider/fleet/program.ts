import * as pulumi from "../lib/pulumi.js";
import { toWireLine } from "../lib/provider-process.js";
import { VerificationKey } from "../verification-key/verification-key.js";
import { ApiChatWebhook } from "../webhook/webhook.js";
import { declareStack, isResource, ProgramError, readProgramFile } from "./declare.js";
import type { Declared, DeclaredWebhook } from "./definition.js";

/** What the engine runs for every stack of a fleet: calls the user's program, and exports bot URLs and statuses. */
export async function runFleetProgram(): Promise<Record<string, unknown>> {
  const file = readProgramFile();
  if ("outputs" in file) return file.outputs;
  if (file.refuseRandomKeys) pulumi.runtime.registerStackTransformation(refuseRandomKey);
  const declared = await declareStack(file).catch(rethrowForSdk);
  const entries = Object.entries(declared).map(([name, one]) => [name, toResource(name, one)] as const);
  return {
    botUrls: Object.fromEntries(entries.map(([name, { botUrl }]) => [name, botUrl])),
    statuses: Object.fromEntries(entries.map(([name, { status }]) => [name, status])),
  };
}

/** The SDK prints the text of its own class alone, and a stack of all others. */
function rethrowForSdk(error: unknown): never {
  throw error instanceof ProgramError ? new pulumi.RunError(error.message) : error;
}

/** A state that the resource plugin has written is taken over. */
const aliasOf = (name: string): pulumi.CustomResourceOptions => ({
  aliases: [{ type: `apichat:index:${name}` }],
});

function toResource(name: string, declared: Declared): DeclaredWebhook {
  if (isResource(declared)) return declared;
  const { webhookVerificationKey: key, ...args } = declared;
  const webhookVerificationKey =
    typeof key === "string" ? key : new VerificationKey(name, key, aliasOf("VerificationKey")).current;
  return new ApiChatWebhook(name, { ...args, webhookVerificationKey }, aliasOf("ApiChatWebhook"));
}

export const KEY_TYPE = "pulumi-nodejs:dynamic/apichat:VerificationKey";

const refuseRandomKey: pulumi.ResourceTransformation = ({ type, name, props }) => {
  if (type !== KEY_TYPE || props["derivedFrom"] !== undefined) return undefined;
  console.log(toWireLine({ randomKey: name }));
  throw new pulumi.RunError(`${name}: a random key is not made without checkpoints`);
};
