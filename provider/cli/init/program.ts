import { MIN_NODE } from "../../lib/version.js";

export interface ProgramOptions {
  /** Of the project and of its package. */
  name: string;
  /** What package.json names this package by. */
  source: string;
  baseUrl: string;
  /** The user's endpoint. Without one the program starts a responder. */
  webhookUrl: string | undefined;
}

/** A Pulumi program with one webhook. */
export interface Program {
  /** Its text files, by their paths in the folder of the program. */
  files: Record<string, string>;
  /** The commands that make it ready, in this order. */
  install: string[];
}

/** What the comments of the programs explain, as lines, the same in every language. */
export const NOTES = {
  key: ["The shared key of handshakes and deliveries. It stays in the stack's state, encrypted."],
  responder: [
    "For development: a process on this machine that keeps running after pulumi up and stores each delivery. Set a URL of your",
    "program to forward to, or register your own endpoint instead.",
  ],
  webhook: [
    "The workspace's address is in Pulumi.yaml, the API key in the stack's configuration as apichat:apiKey.",
  ],
  endpointKey: "the key that your endpoint has",
  botUrl: "where messages of your contacts are posted",
  status: '"verified"',
  sharedKey: "a secret, for apichat verify and apichat listen",
};

/** Comment lines at this indentation. */
export const comment = (mark: string, lines: readonly string[]): string =>
  lines.map((line) => `${mark} ${line}`).join("\n");

/** The workspace's name in a program that starts a responder. */
export const WORKSPACE = "acme";

/** For `npm install`, which brings the plugin and the command `apichat` to programs of every language. */
export const packageJson = ({ name, source }: ProgramOptions, more: PackageJson = {}): string =>
  toJson({
    name,
    private: true,
    engines: { node: `>=${MIN_NODE}` },
    ...more,
    dependencies: { ...more.dependencies, "pulumi-apichat": source },
  });

interface PackageJson {
  dependencies?: Record<string, string>;
  devDependencies?: Record<string, string>;
}

export const toJson = (value: object): string => `${JSON.stringify(value, null, 2)}\n`;

/** Pulumi.yaml. `runtime` is YAML that stands behind `runtime:`. */
export const projectYaml = ({ name, baseUrl }: ProgramOptions, runtime: string, packages = ""): string =>
  `name: ${JSON.stringify(name)}
description: A webhook of the API Channel service
runtime: ${runtime}
${packages}config:
  apichat:baseUrl:
    value: ${JSON.stringify(baseUrl)}
`;

/** Where the engine finds the plugin, for Pulumi.yaml. `pulumi install` makes the SDK of a program from it. */
export const PACKAGES = `packages:
  apichat: ./node_modules/pulumi-apichat/plugin
`;

/** What Pulumi and npm make beside a program, and these. */
export const gitignore = (...more: string[]): string =>
  ["node_modules/", ".pulumi/", ...more].map((line) => `${line}\n`).join("");
