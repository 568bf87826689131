package main

import (
	"example.com/pulumi-apichat/sdk/go/apichat"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

func main() {
	pulumi.Run(func(ctx *pulumi.Context) error {
		// The shared key for handshakes and deliveries. It is stored encrypted in the stack's state.
		key, err := apichat.NewVerificationKey(ctx, "key", nil)
		if err != nil {
			return err
		}

		// For development: a process on this machine that keeps running after pulumi up and stores each delivery. Set the URL of your
		// program as the forwarding target, or register your own endpoint instead.
		responder, err := apichat.NewResponder(ctx, "responder", &apichat.ResponderArgs{
			Workspaces: apichat.ResponderWorkspaceMap{
				"acme": apichat.ResponderWorkspaceArgs{VerificationKeys: key.Keys},
			},
		})
		if err != nil {
			return err
		}

		// The workspace's address is in Pulumi.yaml, the API key in the stack's configuration as apichat:apiKey.
		webhook, err := apichat.NewApiChatWebhook(ctx, "webhook", &apichat.ApiChatWebhookArgs{
			WebhookUrl:             responder.Urls.MapIndex(pulumi.String("acme")),
			WebhookVerificationKey: key.Current,
		})
		if err != nil {
			return err
		}

		ctx.Export("bot_url", webhook.BotUrl) // where to post your contacts' messages
		ctx.Export("status", webhook.Status)  // "verified"

		ctx.Export("verification_key", key.Current) // a secret, for apichat verify and apichat listen
		return nil
	})
}
