/** The programs of the rows on the engine. Each declares the webhooks that the benchmark wrote to its folder. */
import { readFileSync } from "node:fs";
import * as pulumi from "@pulumi/pulumi";
import { ApiChatWebhook } from "pulumi-apichat";

/** @typedef {Record<"name" | "baseUrl" | "apiKey" | "webhookUrl" | "webhookVerificationKey", string>} Declared */

/** @type {Declared[]} */
const webhooks = JSON.parse(readFileSync("webhooks.json", "utf8"));

/** Declares them with this package. */
export const ours = () => webhooks.map(({ name, ...args }) => new ApiChatWebhook(name, args));

const NO_OP_SOURCE =
  'exports.handler=()=>({create:async i=>{const id="http://127.0.0.1:40000/api/apichat/f"+i.name.padStart(23,"0");' +
  "return{id,outs:{...i,botUrl:id}}}})";

class NoOp extends pulumi.CustomResource {}

/**
 * The minimum that a dynamic resource can cost: our inputs and outputs, a constant `__provider`, and no work
 * at all.
 */
export const noOp = () =>
  webhooks.map(
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
