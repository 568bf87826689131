import pulumi

workspaces = pulumi.StackReference(pulumi.Config().require("workspacesStack"))
bot_url = workspaces.require_output("bot_url")

pulumi.export("bot_url", bot_url)
# Environment variables for a service that posts messages: pass them to your container or function.
pulumi.export("environment", {"APICHAT_BOT_URLS": pulumi.Output.json_dumps(bot_url)})
