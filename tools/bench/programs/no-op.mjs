/** The least that a dynamic resource can cost: our inputs and outputs, a constant `__provider`, and no work at all. */
import * as pulumi from "@pulumi/pulumi";
import { readWebhooks } from "./webhooks.mjs";

const PROVIDER_SOURCE =
  'exports.handler=()=>({create:async i=>{const id="http://127.0.0.1:40000/api/apichat/f"+i.name.padStart(23,"0");' +
  "return{id,outs:{...i,botUrl:id}}}})";

class NoOp extends pulumi.CustomResource {
  /** @param {import("./webhooks.mjs").WebhookArgs} args */
  constructor({ name, ...args }) {
    super("pulumi-nodejs:dynamic/apichat:ApiChatWebhook", name, {
      __provider: PROVIDER_SOURCE,
      name,
      ...args,
      apiKey: pulumi.secret(args.apiKey),
      webhookVerificationKey: pulumi.secret(args.webhookVerificationKey),
      status: "verified",
      botUrl: undefined,
    });
  }
}

readWebhooks().forEach((args) => new NoOp(args));
