import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { VERSION } from "../../lib/version.js";

/** The files of a program, as in `examples/`. All examples of a language share a file whose path starts with "..". */
export const PROGRAM_LANGUAGES = {
  yaml: [],
  python: ["requirements.txt", "__main__.py"],
  go: ["../go.mod", "main.go"],
  typescript: ["tsconfig.json", "index.ts"],
  java: ["../pom.xml", "src/main/java/example/App.java"],
} satisfies Record<string, readonly string[]>;

export type ProgramLanguage = keyof typeof PROGRAM_LANGUAGES;

/** The languages whose programs need neither npm nor an SDK that Pulumi generates. */
export const LANGUAGES_WITHOUT_NPM: readonly ProgramLanguage[] = ["python", "yaml"];

export interface ProgramOptions {
  name: string;
  /** How package.json refers to this package. If undefined, the engine downloads the plugin. */
  source: string | undefined;
  /** The file or URL from which the wheel was installed; empty or undefined if from a package index. */
  wheel?: string | undefined;
  baseUrl: string;
  /** The user's endpoint. If undefined, the program starts a responder. */
  webhookUrl: string | undefined;
  /** Default: a TypeScript program on the dynamic provider. */
  language: ProgramLanguage | undefined;
}

/** npm does not pack a file named .gitignore, so the examples contain none. */
const GITIGNORE = "node_modules/\n.pulumi/\nkeys/\nsdks/\ntarget/\nvenv/\n__pycache__/\n";

export async function readProgram(
  packageFolder: string,
  options: ProgramOptions,
): Promise<Record<string, string>> {
  const { language, webhookUrl } = options;
  const example = webhookUrl === undefined ? "quickstart" : "webhook-only";
  const folder = join(packageFolder, "examples", language ?? "", example);
  const manifest = options.source === undefined ? [] : ["package.json"];
  const paths = [...manifest, "Pulumi.yaml", ...PROGRAM_LANGUAGES[language ?? "typescript"]];
  const files = paths.map(async (path) => {
    const name = path.replace("../", "");
    const text = await readFile(join(folder, path), "utf8");
    return [name, EDITS[name]?.(text, options) ?? text] as const;
  });
  return { ...Object.fromEntries(await Promise.all(files)), ".gitignore": GITIGNORE };
}

const EDITS: Record<string, (text: string, options: ProgramOptions) => string> = {
  "package.json": (text, { name, source }) => {
    const example = JSON.parse(text) as { dependencies: Record<string, string> };
    const dependencies = { ...example.dependencies, "pulumi-apichat": source };
    return `${JSON.stringify({ ...example, name, dependencies }, null, 2)}\n`;
  },
  "Pulumi.yaml": (text, { name, source, baseUrl, webhookUrl }) =>
    text
      .replace(source === undefined ? /^packages:\n {2}apichat: .*\n/m : "", "")
      .replace(/(?<=^name: ).*/m, () => JSON.stringify(name))
      .replace(/(?<=^ {2}apichat:baseUrl:\n {4}value: ).*/m, () => JSON.stringify(baseUrl))
      .replace(/(?<=^ {2}webhookUrl: ).*/m, () => JSON.stringify(webhookUrl)),
  "requirements.txt": (text, { source, wheel }) =>
    source === undefined ? `pulumi-apichat${wheel ? ` @ ${wheel}` : `==${VERSION}`}\n` : text,
  // The SDK and its dependencies are removed, because `pulumi install` adds them.
  "go.mod": (text, { name }) =>
    text
      .replace(/(?<=^module ).*/m, name)
      .replaceAll(/^.*(?:\/\/ indirect|pulumi-apichat).*\n/gm, "")
      .replace(/\nrequire \(\n\)\n\n?$/, ""),
  // The examples' parent POM becomes the program's POM; `pulumi install` puts the SDK into the program's folder.
  "pom.xml": (text, { name }) =>
    text
      .replace("apichat-examples", name)
      .replace(/ *<packaging>[^]*<\/modules>\n/, "")
      .replace("${project.basedir}/../../../sdk/java", "sdks/apichat"),
};
