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

export const yamlProgram = (options: ProgramOptions): Program => ({
  files: {
    "package.json": packageJson(options),
    "Pulumi.yaml":
      projectYaml(options, "yaml", PACKAGES) +
      (options.webhookUrl === undefined
        ? WITH_RESPONDER + OUTPUTS + KEY_OUTPUT
        : withEndpoint(options.webhookUrl) + OUTPUTS),
    ".gitignore": gitignore(),
  },
  install: ["npm install"],
});

const OUTPUTS = `outputs:
  bot_url: \${webhook.botUrl} # ${NOTES.botUrl}
  status: \${webhook.status} # ${NOTES.status}
`;

const KEY_OUTPUT = `  verification_key: \${key.current} # ${NOTES.sharedKey}
`;

const WITH_RESPONDER = `resources:
${comment("  #", NOTES.key)}
  key:
    type: apichat:VerificationKey
${comment("  #", NOTES.responder)}
  responder:
    type: apichat:Responder
    properties:
      workspaces:
        ${WORKSPACE}:
          verificationKeys: \${key.keys}
${comment("  #", NOTES.webhook)}
  webhook:
    type: apichat:ApiChatWebhook
    properties:
      webhookUrl: \${responder.urls["${WORKSPACE}"]}
      webhookVerificationKey: \${key.current}
`;

const withEndpoint = (webhookUrl: string): string => `  verificationKey: # ${NOTES.endpointKey}
    type: string
    secret: true
resources:
${comment("  #", NOTES.webhook)}
  webhook:
    type: apichat:ApiChatWebhook
    properties:
      webhookUrl: ${JSON.stringify(webhookUrl)}
      webhookVerificationKey: \${verificationKey}
`;
