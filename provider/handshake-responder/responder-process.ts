import * as pulumi from "@pulumi/pulumi";
import { providerSource } from "../resource/provider-source.js";

/** What the component passes on, keys as secrets. */
export interface ResponderProcessArgs {
  /** Project, stack and name. */
  instanceKey: string;
  organization: string;
  workspaces: pulumi.Inputs;
  verificationKeys: pulumi.Inputs;
  host: pulumi.Input<string | undefined> | undefined;
  port: pulumi.Input<number | undefined> | undefined;
  publicUrl: pulumi.Input<string | undefined> | undefined;
  dataDir: pulumi.Input<string | undefined> | undefined;
}

const PROVIDER_SOURCE = providerSource("ResponderProcess");

/** The process of a `HandshakeResponder`. Its id is the address at which it was started, known in previews of an update. */
export class ResponderProcess extends pulumi.CustomResource {
  declare readonly pid: pulumi.Output<number>;
  declare readonly dataDir: pulumi.Output<string>;

  constructor(name: string, args: ResponderProcessArgs, opts: pulumi.CustomResourceOptions) {
    const properties = {
      __provider: PROVIDER_SOURCE,
      name,
      ...args,
      // Named, so that the SDK makes outputs of them; create gives the values.
      pid: undefined,
      instance: undefined,
      machine: undefined,
    };
    super("pulumi-nodejs:dynamic/apichat:ResponderProcess", name, properties, {
      ...opts,
      additionalSecretOutputs: ["verificationKeys"],
      deleteBeforeReplace: true,
    });
  }
}
