/**
 * The source of the dynamic provider, the same for every resource, every program and every version. It stands in each
 * resource's state, so delete and refresh run the installed package and not the code of the day of creation. Where the
 * package is missing, or Node too old for it, it says so without a stack.
 */
export const PROVIDER_SOURCE =
  'exports.handler=()=>{try{return require("pulumi-apichat/dynamic").ApiChatWebhook}' +
  'catch(e){throw Object.assign(Error("npm install pulumi-apichat, on Node 22.19+: "+e),{stack:""})}}';
