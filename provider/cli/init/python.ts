import { MIN_PULUMI } from "../../lib/version.js";
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

export const pythonProgram = (options: ProgramOptions): Program => ({
  files: {
    "package.json": packageJson(options),
    "Pulumi.yaml": projectYaml(options, RUNTIME, PACKAGES),
    "requirements.txt": `pulumi>=${MIN_PULUMI},<4\n`,
    "__main__.py": options.webhookUrl === undefined ? WITH_RESPONDER : withEndpoint(options.webhookUrl),
    ".gitignore": gitignore("sdks/", "venv/", "__pycache__/"),
  },
  install: ["npm install", "pulumi install"],
});

const RUNTIME = "{ name: python, options: { toolchain: pip, virtualenv: venv } }";

const IMPORTS = `import pulumi
import pulumi_apichat as apichat
`;

const EXPORTS = `
pulumi.export("bot_url", webhook.bot_url)  # ${NOTES.botUrl}
pulumi.export("status", webhook.status)  # ${NOTES.status}
`;

const KEY_EXPORT = `pulumi.export("verification_key", key.current)  # ${NOTES.sharedKey}
`;

const WITH_RESPONDER = `${IMPORTS}
${comment("#", NOTES.key)}
key = apichat.VerificationKey("key")

${comment("#", NOTES.responder)}
responder = apichat.Responder("responder", workspaces={"${WORKSPACE}": {"verification_keys": key.keys}})

${comment("#", NOTES.webhook)}
webhook = apichat.ApiChatWebhook(
    "webhook",
    webhook_url=responder.urls["${WORKSPACE}"],
    webhook_verification_key=key.current,
)
${EXPORTS}${KEY_EXPORT}`;

const withEndpoint = (webhookUrl: string): string => `${IMPORTS}
config = pulumi.Config()

${comment("#", NOTES.webhook)}
webhook = apichat.ApiChatWebhook(
    "webhook",
    webhook_url=${JSON.stringify(webhookUrl)},
    webhook_verification_key=config.require_secret("verificationKey"),  # ${NOTES.endpointKey}
)
${EXPORTS}`;
