import pulumi
import pulumi_apichat as apichat

config = pulumi.Config()
names: list[str] = config.require_object("workspaces")
platform = config.require("platform")

keys = {name: apichat.VerificationKey(name) for name in names}

# One process for all workspaces. A service that is not on this machine needs publicUrl: the tunnel or reverse proxy that leads here.
responder = apichat.Responder(
    "responder",
    workspaces={name: {"verification_keys": key.keys} for name, key in keys.items()},
    public_url=config.get("publicUrl"),
)

# One API key for all workspaces, from the configuration: apichat:apiKey.
webhooks = {
    name: apichat.ApiChatWebhook(
        name,
        base_url=f"{platform}/{name}/apichat",
        webhook_url=responder.urls[name],
        webhook_verification_key=key.current,
    )
    for name, key in keys.items()
}

pulumi.export("bot_url", {name: webhook.bot_url for name, webhook in webhooks.items()})
pulumi.export("status", {name: webhook.status for name, webhook in webhooks.items()})
