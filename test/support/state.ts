import type { TestStack } from "./stack.ts";

/** A resource as it stands in the exported state; its secrets are objects that hold a ciphertext. */
export interface StateResource {
  urn: string;
  id: string;
  inputs: Record<string, unknown>;
  outputs: Record<string, unknown>;
}

/** The resource of this name in a stack's state; undefined if there is none. */
export async function findResource(
  stack: Pick<TestStack, "exportedState">,
  name: string,
  type = "ApiChatWebhook",
): Promise<StateResource | undefined> {
  const { deployment } = JSON.parse(await stack.exportedState()) as {
    deployment: { resources?: StateResource[] };
  };
  return deployment.resources?.find(({ urn }) => urn.endsWith(`${type}::${name}`));
}

/** The URN that a webhook of this name has in the stacks of the tests. */
export const urnOf = (name: string, stack = "dev"): string =>
  `urn:pulumi:${stack}::test::pulumi-nodejs:dynamic/apichat:ApiChatWebhook::${name}`;
