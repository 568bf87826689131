import { fileURLToPath } from "node:url";
import * as pulumi from "@pulumi/pulumi";

/** The folder of the plugin, as `packages` in Pulumi.yaml names it. */
export const pluginFolder = fileURLToPath(new URL("../../plugin", import.meta.url));

/** A resource as a generated SDK declares it, with the alias that the schema adds to every SDK. */
class PluginResource extends pulumi.CustomResource {
  constructor(type: string, name: string, properties: object, options: pulumi.CustomResourceOptions = {}) {
    const aliases = [{ type: `pulumi-nodejs:dynamic/apichat:${type}` }];
    super(`apichat:index:${type}`, name, properties, pulumi.mergeOptions(options, { aliases }));
  }
}

export class PluginWebhook extends PluginResource {
  declare readonly botUrl: pulumi.Output<string>;
  declare readonly status: pulumi.Output<string>;

  constructor(name: string, args: object, options?: pulumi.CustomResourceOptions) {
    super("ApiChatWebhook", name, { ...args, botUrl: undefined, status: undefined }, options);
  }
}

export class PluginVerificationKey extends PluginResource {
  declare readonly current: pulumi.Output<string>;
  declare readonly keys: pulumi.Output<string[]>;

  constructor(name: string, args: object, options?: pulumi.CustomResourceOptions) {
    super("VerificationKey", name, { ...args, current: undefined, keys: undefined }, options);
  }
}
