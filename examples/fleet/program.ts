import * as pulumi from "@pulumi/pulumi";
import { ApiChatWebhook, HandshakeResponder, VerificationKey } from "pulumi-apichat";
import type { FleetProgram, FleetStack } from "pulumi-apichat/fleet";

/** All keys are derived from this secret: `openssl rand -base64 32` makes one. */
const derivedFrom = pulumi.secret(process.env["KEY_SEED"] ?? "");

/** One stack of the fleet: what each workspace gets is up to you. The resources have the workspace's name. */
const declareStack = (stack: FleetStack) => {
  const workspaces = stack.workspaces.map((workspace) => ({
    ...workspace,
    key: new VerificationKey(workspace.name, { derivedFrom, rotations: stack.rotations }),
  }));
  const urlOf = answerHandshakes(workspaces);

  return Object.fromEntries(
    workspaces.map(({ name, baseUrl, webhookUrl, apiKey, key }) => [
      name,
      new ApiChatWebhook(name, {
        baseUrl,
        apiKey,
        webhookUrl: webhookUrl ?? urlOf(name),
        webhookVerificationKey: key.current,
      }),
    ]),
  );
};

export default declareStack satisfies FleetProgram;

type Workspace = FleetStack["workspaces"][number] & { key: VerificationKey };

/**
 * A responder on this machine for the workspaces that name no webhook URL of their own: one process for each stack. In
 * production your own receiver answers: see README.md.
 */
function answerHandshakes(workspaces: Workspace[]): (name: string) => HandshakeResponder["url"] {
  const answered = workspaces.filter(({ webhookUrl }) => webhookUrl === undefined);
  if (answered.length === 0) return refuseToAnswer;
  const responder = new HandshakeResponder("responder", {
    workspaces: Object.fromEntries(answered.map(({ name, key }) => [name, { verificationKeys: key.keys }])),
  });
  return (name) => responder.urls.apply((urls) => urls[name] ?? refuseToAnswer(name));
}

function refuseToAnswer(name: string): never {
  throw new Error(`${name}: nothing answers for it`);
}
