import { MIN_PULUMI } from "../../lib/version.js";
import {
  comment,
  gitignore,
  NOTES,
  packageJson,
  PACKAGES,
  projectYaml,
  toJson,
  WORKSPACE,
  type Program,
  type ProgramOptions,
} from "./program.js";

/** A program on the dynamic provider, which needs no SDK and no plugin. */
export const dynamicProgram = (options: ProgramOptions): Program => ({
  files: nodeFiles(options, {
    project: projectYaml(options, "nodejs"),
    index:
      options.webhookUrl === undefined ? WITH_PROCESS : withEndpoint(options.webhookUrl, "pulumi-apichat"),
    ignored: [],
  }),
  install: ["npm install"],
});

/** The same on the resource plugin, with the SDK that `pulumi install` makes. */
export const typescriptProgram = (options: ProgramOptions): Program => ({
  files: nodeFiles(options, {
    project: projectYaml(options, "nodejs", PACKAGES),
    index: options.webhookUrl === undefined ? WITH_RESPONDER : withEndpoint(options.webhookUrl, SDK),
    ignored: ["sdks/"],
  }),
  install: ["npm install", "pulumi install"],
});

/** The name of the SDK's package, as the schema has it. */
const SDK = "pulumi-apichat-sdk";

interface NodeProgram {
  project: string;
  index: string;
  ignored: string[];
}

const nodeFiles = (options: ProgramOptions, { project, index, ignored }: NodeProgram) => ({
  "package.json": packageJson(options, {
    dependencies: { "@pulumi/pulumi": `^${MIN_PULUMI}` },
    devDependencies: { "@types/node": "^24.0.0", typescript: "^6.0.0" },
  }),
  "tsconfig.json": toJson({ compilerOptions: COMPILER_OPTIONS, include: ["*.ts"] }),
  "Pulumi.yaml": project,
  "index.ts": index,
  ".gitignore": gitignore(...ignored),
});

const COMPILER_OPTIONS = {
  target: "es2023",
  module: "nodenext",
  // Earlier SDKs, such as 3.216, set another one where it is left out (TS5109).
  moduleResolution: "nodenext",
  types: ["node"],
  strict: true,
  skipLibCheck: true,
  noEmit: true,
};

const EXPORTS = `
export const bot_url = webhook.botUrl; // ${NOTES.botUrl}
export const status = webhook.status; // ${NOTES.status}
`;

const KEY_EXPORT = `export const verification_key = key.current; // ${NOTES.sharedKey}
`;

const WITH_PROCESS = `import { ApiChatWebhook, HandshakeResponder, VerificationKey } from "pulumi-apichat";

${comment("//", NOTES.key)}
const key = new VerificationKey("key");

${comment("//", NOTES.responder)}
const responder = new HandshakeResponder("responder", {
  workspaces: { ${WORKSPACE}: { verificationKeys: key.keys } },
});

${comment("//", NOTES.webhook)}
const webhook = new ApiChatWebhook("webhook", {
  webhookUrl: responder.urls.${WORKSPACE},
  webhookVerificationKey: key.current,
});
${EXPORTS}${KEY_EXPORT}`;

const WITH_RESPONDER = `import { ApiChatWebhook, Responder, VerificationKey } from "${SDK}";

${comment("//", NOTES.key)}
const key = new VerificationKey("key");

${comment("//", NOTES.responder)}
const responder = new Responder("responder", { workspaces: { ${WORKSPACE}: { verificationKeys: key.keys } } });

${comment("//", NOTES.webhook)}
const webhook = new ApiChatWebhook("webhook", {
  webhookUrl: responder.urls.${WORKSPACE},
  webhookVerificationKey: key.current,
});
${EXPORTS}${KEY_EXPORT}`;

const withEndpoint = (webhookUrl: string, sdk: string): string => `import * as pulumi from "@pulumi/pulumi";
import { ApiChatWebhook } from "${sdk}";

const config = new pulumi.Config();

${comment("//", NOTES.webhook)}
const webhook = new ApiChatWebhook("webhook", {
  webhookUrl: ${JSON.stringify(webhookUrl)},
  webhookVerificationKey: config.requireSecret("verificationKey"), // ${NOTES.endpointKey}
});
${EXPORTS}`;
