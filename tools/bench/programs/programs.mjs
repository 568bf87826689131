/** The programs of the rows on the engine. Each declares the webhooks that the benchmark has written into its folder. */
import { readFileSync } from "node:fs";
import * as pulumi from "@pulumi/pulumi";
import { ApiChatWebhook, HandshakeResponder } from "pulumi-apichat";
import { PlainWebhook } from "./plain.mjs";

/** @returns {import("./plain.mjs").WebhookArgs[]} */
export const readWebhooks = () => JSON.parse(readFileSync("webhooks.json", "utf8"));

/** As this package registers them. */
export const ours = () => readWebhooks().map(({ name, ...args }) => new ApiChatWebhook(name, args));

/** As users write it today. */
export const plain = () => readWebhooks().map((args) => new PlainWebhook(args));

class OnPlugin extends pulumi.CustomResource {}

/** On the resource plugin, as its SDK for Node registers them. */
export const plugin = () =>
  readWebhooks().map(
    ({ name, ...args }) =>
      new OnPlugin("apichat:index:ApiChatWebhook", name, {
        ...args,
        apiKey: pulumi.secret(args.apiKey),
        webhookVerificationKey: pulumi.secret(args.webhookVerificationKey),
        botUrl: undefined,
        status: undefined,
      }),
  );

const NO_OP_SOURCE =
  'exports.handler=()=>({create:async i=>{const id="http://127.0.0.1:40000/api/apichat/f"+i.name.padStart(23,"0");' +
  "return{id,outs:{...i,botUrl:id}}}})";

class NoOp extends pulumi.CustomResource {}

/** The least that a dynamic resource can cost: our inputs and outputs, a constant `__provider`, and no work at all. */
export const noOp = () =>
  readWebhooks().map(
    (args) =>
      new NoOp("pulumi-nodejs:dynamic/apichat:ApiChatWebhook", args.name, {
        __provider: NO_OP_SOURCE,
        ...args,
        apiKey: pulumi.secret(args.apiKey),
        webhookVerificationKey: pulumi.secret(args.webhookVerificationKey),
        status: "verified",
        botUrl: undefined,
      }),
  );

/** The workspaces of all webhooks in one responder, with two keys each, as during a rotation. */
export function responder() {
  const workspaces = readWebhooks().map(({ name, webhookVerificationKey: key }) => [
    name,
    { verificationKeys: [`${key}-${name}`, `former-${key}-${name}`] },
  ]);
  return new HandshakeResponder("responder", { workspaces: Object.fromEntries(workspaces) });
}
