package main

import (
	"example.com/pulumi-apichat/sdk/go/apichat"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi/config"
)

func main() {
	pulumi.Run(func(ctx *pulumi.Context) error {
		// The addresses are in Pulumi.yaml, the API key in the stack's configuration as apichat:apiKey.
		webhook, err := apichat.NewApiChatWebhook(ctx, "webhook", &apichat.ApiChatWebhookArgs{
			WebhookUrl:             pulumi.String(config.Require(ctx, "webhookUrl")),
			WebhookVerificationKey: config.RequireSecret(ctx, "verificationKey"), // your endpoint's key
		})
		if err != nil {
			return err
		}

		ctx.Export("bot_url", webhook.BotUrl) // where to post your contacts' messages
		ctx.Export("status", webhook.Status)  // "verified"
		return nil
	})
}
