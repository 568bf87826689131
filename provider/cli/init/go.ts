import {
  comment,
  gitignore,
  NOTES,
  packageJson,
  PACKAGES,
  projectYaml,
  WORKSPACE,
  type Program,
  type ProgramOptions,
} from "./program.js";

export const goProgram = (options: ProgramOptions): Program => ({
  files: {
    "package.json": packageJson(options),
    "Pulumi.yaml": projectYaml(options, "go", PACKAGES),
    "go.mod": `module ${options.name}\n\ngo 1.26\n\nrequire ${PULUMI} ${PULUMI_VERSION}\n`,
    "main.go": options.webhookUrl === undefined ? WITH_RESPONDER : withEndpoint(options.webhookUrl),
    ".gitignore": gitignore("sdks/"),
  },
  install: ["npm install", "pulumi install"],
});

const PULUMI = "github.com/pulumi/pulumi/sdk/v3";
const PULUMI_VERSION = "v3.259.0";

const openMain = (...more: string[]): string => `package main

import (
	"example.com/pulumi-apichat/sdk/go/apichat"
${[`${PULUMI}/go/pulumi`, ...more].map((path) => `\t"${path}"\n`).join("")})

func main() {
	pulumi.Run(func(ctx *pulumi.Context) error {
`;

const closeMain = (keyExport = ""): string => `		if err != nil {
			return err
		}

		ctx.Export("bot_url", webhook.BotUrl) // ${NOTES.botUrl}
		ctx.Export("status", webhook.Status)  // ${NOTES.status}
${keyExport}		return nil
	})
}
`;

const KEY_EXPORT = `
		ctx.Export("verification_key", key.Current) // ${NOTES.sharedKey}
`;

const WITH_RESPONDER = `${openMain()}${comment("\t\t//", NOTES.key)}
		key, err := apichat.NewVerificationKey(ctx, "key", nil)
		if err != nil {
			return err
		}

${comment("\t\t//", NOTES.responder)}
		responder, err := apichat.NewResponder(ctx, "responder", &apichat.ResponderArgs{
			Workspaces: apichat.ResponderWorkspaceMap{
				"${WORKSPACE}": apichat.ResponderWorkspaceArgs{VerificationKeys: key.Keys},
			},
		})
		if err != nil {
			return err
		}

${comment("\t\t//", NOTES.webhook)}
		webhook, err := apichat.NewApiChatWebhook(ctx, "webhook", &apichat.ApiChatWebhookArgs{
			WebhookUrl:             responder.Urls.MapIndex(pulumi.String("${WORKSPACE}")),
			WebhookVerificationKey: key.Current,
		})
${closeMain(KEY_EXPORT)}`;

const withEndpoint = (
  webhookUrl: string,
): string => `${openMain(`${PULUMI}/go/pulumi/config`)}${comment("\t\t//", NOTES.webhook)}
		webhook, err := apichat.NewApiChatWebhook(ctx, "webhook", &apichat.ApiChatWebhookArgs{
			WebhookUrl:             pulumi.String(${JSON.stringify(webhookUrl)}),
			WebhookVerificationKey: config.RequireSecret(ctx, "verificationKey"), // ${NOTES.endpointKey}
		})
${closeMain()}`;
