import * as pulumi from "@pulumi/pulumi";

type ByWorkspace = pulumi.Output<Record<string, string>>;

const workspaces = new pulumi.StackReference(new pulumi.Config().require("workspacesStack"));

export const bot_url = workspaces.requireOutput("bot_url") as ByWorkspace;
export const status = workspaces.requireOutput("status") as ByWorkspace;

/** Environment variables for a service that posts messages: pass them to your container or function. */
export const environment = { APICHAT_BOT_URLS: pulumi.jsonStringify(bot_url) };
