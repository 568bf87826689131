package main

import (
	"example.com/pulumi-apichat/sdk/go/apichat"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi/config"
)

func main() {
	pulumi.Run(func(ctx *pulumi.Context) error {
		settings := config.New(ctx, "")
		var names []string
		settings.RequireObject("workspaces", &names)
		platform := settings.Require("platform")

		keys := make(map[string]*apichat.VerificationKey)
		accepted := apichat.ResponderWorkspaceMap{}
		for _, name := range names {
			key, err := apichat.NewVerificationKey(ctx, name, nil)
			if err != nil {
				return err
			}
			keys[name] = key
			accepted[name] = apichat.ResponderWorkspaceArgs{VerificationKeys: key.Keys}
		}

		// One process for all workspaces. A service that is not on this machine needs PublicUrl: the tunnel or reverse proxy that leads here.
		responder, err := apichat.NewResponder(ctx, "responder", &apichat.ResponderArgs{Workspaces: accepted})
		if err != nil {
			return err
		}

		botUrls, statuses := pulumi.StringMap{}, pulumi.StringMap{}
		for _, name := range names {
			// One API key for all workspaces, from the configuration: apichat:apiKey.
			webhook, err := apichat.NewApiChatWebhook(ctx, name, &apichat.ApiChatWebhookArgs{
				BaseUrl:                pulumi.Sprintf("%s/%s/apichat", platform, name),
				WebhookUrl:             responder.Urls.MapIndex(pulumi.String(name)),
				WebhookVerificationKey: keys[name].Current,
			})
			if err != nil {
				return err
			}
			botUrls[name], statuses[name] = webhook.BotUrl, webhook.Status
		}

		ctx.Export("bot_url", botUrls)
		ctx.Export("status", statuses)
		return nil
	})
}
