import { mkdir, realpath, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { parse, stringify } from "yaml";
import { readProgram, type ProgramLanguage } from "../../dist/provider/cli/init/program.js";
import { API_KEY, VERIFICATION_KEY } from "../support/endpoint.ts";
import { pluginLanguages } from "../support/languages.ts";
import { blocksOf, chapterOf, readPage, root } from "../support/pages.ts";
import { openProgramFolder } from "../support/program-folder.ts";
import { expectCleanBackend, openScene } from "../support/scene.ts";
import { findSecrets } from "../support/secrets.ts";

/** For each language, the tag of its code block on the page, and the file to write the block to. */
const SOURCES: Record<ProgramLanguage, [string, string]> = {
  yaml: ["yaml", "Pulumi.yaml"],
  python: ["python", "__main__.py"],
  go: ["go", "main.go"],
  typescript: ["ts", "index.ts"],
  java: ["java", "src/main/java/example/App.java"],
};

const chapter = chapterOf(readPage("docs/guide/programs.md"), "Several providers");

test.each(pluginLanguages)(
  "in $name, the page's program registers and reads a webhook, each with the correct provider of its two",
  async ({ name, environment, install }) => {
    const { emulator, backend, endpoint } = await openScene(["acme", "globex"]);
    const globex = emulator.workspace("globex");
    const webhookUrl = `${endpoint.url}/providers`;
    globex.takeOver({ webhook_url: webhookUrl, webhook_verification_key: VERIFICATION_KEY });
    const language = name as ProgramLanguage;
    const [fence, file] = SOURCES[language];
    const [block = ""] = blocksOf(chapter, fence);
    const source = block
      .replace("https://platform.example/globex/apichat", globex.baseUrl)
      .replace("https://chat.example/webhooks/apichat", webhookUrl);

    const folder = join(await realpath(backend.folder), "providers");
    // The page's program replaces the one that `apichat init` writes.
    const baseUrl = emulator.workspace("acme").baseUrl;
    const files = await readProgram(root, { name: "providers", source: "*", baseUrl, webhookUrl, language });
    for (const [path, text] of Object.entries(files)) {
      await mkdir(dirname(join(folder, path)), { recursive: true });
      await writeFile(join(folder, path), text);
    }
    await writeFile(
      join(folder, file),
      language === "yaml" ? intoProject(files[file] ?? "", source) : source,
    );
    await symlink(join(root, "node_modules"), join(folder, "node_modules"));
    const env = { CI: "false", XDG_STATE_HOME: backend.folder, ...environment };
    await install(folder, { ...backend.environment, ...env });

    const program = openProgramFolder(backend, folder, env);
    await program.run("stack", "init", "dev");
    const settings = [`globexApiKey=${API_KEY}`, `verificationKey=${VERIFICATION_KEY}`];
    await program.run("config", "set-all", ...settings.flatMap((setting) => ["--secret", setting]));
    await program.run("up", "--yes", "--skip-preview");
    expect(JSON.parse(await program.run("stack", "output", "--json"))).toEqual({
      bot_url: globex.botUrl,
      registered_url: webhookUrl,
    });
    expect(findSecrets(program.printed(), [API_KEY, VERIFICATION_KEY])).toEqual([]);
    await expectCleanBackend(backend, [API_KEY, VERIFICATION_KEY]);
  },
);

/** Adds the name, the runtime and the packages, which the page's program omits. */
function intoProject(project: string, program: string): string {
  const { name, runtime, packages } = parse(project) as Record<string, unknown>;
  return stringify({ name, runtime, packages, ...(parse(program) as object) });
}
