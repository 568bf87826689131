import * as pulumi from "@pulumi/pulumi";

const SOURCE =
  'exports.handler=()=>({create:async(i)=>({id:"echo",outs:i}),update:async(_id,_olds,news)=>({outs:news}),delete:async()=>{}})';

/** A resource that depends on a value, such as the service that posts to a bot URL. Its output is its input. */
export class Echo extends pulumi.CustomResource {
  declare readonly value: pulumi.Output<string>;

  constructor(name: string, value: pulumi.Input<string>) {
    super("pulumi-nodejs:dynamic/test:Echo", name, { __provider: SOURCE, value });
  }
}
