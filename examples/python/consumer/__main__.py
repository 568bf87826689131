import pulumi

workspaces = pulumi.StackReference(pulumi.Config().require("workspacesStack"))
bot_url = workspaces.require_output("bot_url")

pulumi.export("bot_url", bot_url)
# What a service that posts messages takes in its environment: give it to your container or function.
pulumi.export("environment", {"APICHAT_BOT_URLS": pulumi.Output.json_dumps(bot_url)})
