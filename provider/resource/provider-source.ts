/** The resource types that provider/dynamic.ts exports. The names stand in every state: never renamed. */
export type DynamicType = "ApiChatWebhook" | "VerificationKey" | "ResponderProcess";

/**
 * The source of a dynamic provider, the same for every resource of a type, every program and every version. It stands in
 * each resource's state, so delete and refresh run the installed package and not the code of the day of creation. Where
 * the package is missing, or Node too old for it, it says so without a stack.
 */
export const providerSource = (type: DynamicType): string =>
  `exports.handler=()=>{try{return require("pulumi-apichat/dynamic").${type}}` +
  'catch(e){throw Object.assign(Error("npm install pulumi-apichat, on Node 22.19+: "+e),{stack:""})}}';
