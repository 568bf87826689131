import { fileURLToPath } from "node:url";
import * as pulumi from "@pulumi/pulumi";

/** The folder of the plugin, as `packages` in Pulumi.yaml names it. */
export const pluginFolder = fileURLToPath(new URL("../../plugin", import.meta.url));

/** The options with the alias that the schema adds to every SDK. */
const withAlias = (type: string, options: pulumi.CustomResourceOptions): pulumi.CustomResourceOptions =>
  pulumi.mergeOptions(options, { aliases: [{ type: `pulumi-nodejs:dynamic/apichat:${type}` }] });

/** As a generated SDK has it. */
export class PluginWebhook extends pulumi.CustomResource {
  declare readonly botUrl: pulumi.Output<string>;
  declare readonly status: pulumi.Output<string>;

  constructor(name: string, args: object, options: pulumi.CustomResourceOptions = {}) {
    const outputs = { botUrl: undefined, status: undefined };
    super(
      "apichat:index:ApiChatWebhook",
      name,
      { ...args, ...outputs },
      withAlias("ApiChatWebhook", options),
    );
  }
}

/** As a generated SDK has it. */
export class PluginVerificationKey extends pulumi.CustomResource {
  declare readonly current: pulumi.Output<string>;
  declare readonly keys: pulumi.Output<string[]>;

  constructor(name: string, args: object, options: pulumi.CustomResourceOptions = {}) {
    const outputs = { current: undefined, keys: undefined };
    super(
      "apichat:index:VerificationKey",
      name,
      { ...args, ...outputs },
      withAlias("VerificationKey", options),
    );
  }
}
