import pulumi
import pulumi_apichat as apichat

config = pulumi.Config()

# The addresses are in Pulumi.yaml, the API key in the stack's configuration as apichat:apiKey.
webhook = apichat.ApiChatWebhook(
    "webhook",
    webhook_url=config.require("webhookUrl"),
    webhook_verification_key=config.require_secret("verificationKey"),  # the key that your endpoint has
)

pulumi.export("bot_url", webhook.bot_url)  # where messages of your contacts are posted
pulumi.export("status", webhook.status)  # "verified"
