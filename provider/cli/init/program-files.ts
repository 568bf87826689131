import { LEAST_NODE, LEAST_PULUMI } from "../../lib/version.js";

export interface ProgramOptions {
  /** Of the project and of its package. */
  name: string;
  /** What package.json names this package by. */
  source: string;
  baseUrl: string;
  /** The user's endpoint. Without one the program starts a responder. */
  webhookUrl: string | undefined;
}

/** The files of a Pulumi program with one webhook, by their names. */
export const programFiles = (options: ProgramOptions): Record<string, string> => ({
  "package.json": toJson(packageOf(options)),
  "tsconfig.json": toJson({ compilerOptions: COMPILER_OPTIONS, include: ["*.ts"] }),
  "Pulumi.yaml": projectOf(options),
  "index.ts": options.webhookUrl === undefined ? WITH_RESPONDER : withEndpoint(options.webhookUrl),
  ".gitignore": "node_modules/\n.pulumi/\n",
});

const toJson = (value: object): string => `${JSON.stringify(value, null, 2)}\n`;

const packageOf = ({ name, source }: ProgramOptions): object => ({
  name,
  private: true,
  engines: { node: `>=${LEAST_NODE}` },
  dependencies: { "@pulumi/pulumi": `^${LEAST_PULUMI}`, "pulumi-apichat": source },
  devDependencies: { "@types/node": "^24.0.0", typescript: "^6.0.0" },
});

const COMPILER_OPTIONS = {
  target: "es2023",
  module: "nodenext",
  types: ["node"],
  strict: true,
  skipLibCheck: true,
  noEmit: true,
};

const projectOf = ({ name, baseUrl }: ProgramOptions): string => `name: ${JSON.stringify(name)}
description: A webhook of the API Channel service
runtime: nodejs
config:
  apichat:baseUrl:
    value: ${JSON.stringify(baseUrl)}
`;

const EXPORTS = `
export const bot_url = webhook.botUrl; // where messages of your contacts are posted
export const status = webhook.status; // "verified"
`;

const WITH_RESPONDER = `import { ApiChatWebhook, HandshakeResponder, VerificationKey } from "pulumi-apichat";

// The shared key of handshakes and deliveries. It stays in the stack's state, encrypted.
const key = new VerificationKey("key");

// For development: a process on this machine, which outlives pulumi up and keeps each delivery. Give it forwardTo, the URL
// of your own program; or register an endpoint of your own, which answers with pulumi-apichat/responder, in its place.
const responder = new HandshakeResponder("responder", { verificationKeys: key.keys });

// The workspace's address is in Pulumi.yaml, the API key in the stack's configuration as apichat:apiKey.
const webhook = new ApiChatWebhook("webhook", {
  webhookUrl: responder.url,
  webhookVerificationKey: key.current,
});
${EXPORTS}`;

const withEndpoint = (webhookUrl: string): string => `import * as pulumi from "@pulumi/pulumi";
import { ApiChatWebhook } from "pulumi-apichat";

const config = new pulumi.Config();

// The workspace's address is in Pulumi.yaml, the API key in the stack's configuration as apichat:apiKey.
const webhook = new ApiChatWebhook("webhook", {
  webhookUrl: ${JSON.stringify(webhookUrl)},
  webhookVerificationKey: config.requireSecret("verificationKey"), // the key that your endpoint has
});
${EXPORTS}`;
