import pulumi
import pulumi_apichat as apichat

# The shared key for handshakes and deliveries. It is stored encrypted in the stack's state.
key = apichat.VerificationKey("key")

# For development: a process on this machine that keeps running after pulumi up and stores each delivery. Set the URL of your
# program as the forwarding target, or register your own endpoint instead.
responder = apichat.Responder("responder", workspaces={"acme": {"verification_keys": key.keys}})

# The workspace's address is in Pulumi.yaml, the API key in the stack's configuration as apichat:apiKey.
webhook = apichat.ApiChatWebhook(
    "webhook",
    webhook_url=responder.urls["acme"],
    webhook_verification_key=key.current,
)

pulumi.export("bot_url", webhook.bot_url)  # where to post your contacts' messages
pulumi.export("status", webhook.status)  # "verified"
pulumi.export("verification_key", key.current)  # a secret, for apichat verify and apichat listen
