import pulumi
import pulumi_apichat as apichat

config = pulumi.Config()

# The addresses are in Pulumi.yaml, the API key in the stack's configuration as apichat:apiKey.
webhook = apichat.ApiChatWebhook(
    "webhook",
    webhook_url=config.require("webhookUrl"),
    webhook_verification_key=config.require_secret("verificationKey"),  # your endpoint's key
)

pulumi.export("bot_url", webhook.bot_url)  # where to post your contacts' messages
pulumi.export("status", webhook.status)  # "verified"
