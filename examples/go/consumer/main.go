package main

import (
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi/config"
)

func main() {
	pulumi.Run(func(ctx *pulumi.Context) error {
		workspaces, err := pulumi.NewStackReference(ctx, config.Require(ctx, "workspacesStack"), nil)
		if err != nil {
			return err
		}
		botUrls := workspaces.GetOutput(pulumi.String("bot_url"))

		ctx.Export("bot_url", botUrls)
		// Environment variables for a service that posts messages: pass them to your container or function.
		ctx.Export("environment", pulumi.Map{"APICHAT_BOT_URLS": pulumi.JSONMarshal(botUrls)})
		return nil
	})
}
