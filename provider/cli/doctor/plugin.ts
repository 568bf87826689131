import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import * as z from "zod";
import { readFileIfExists } from "../../lib/files.js";
import { failed, ok, warning } from "./check.js";
import { isOnPlugin, programCheck } from "./project.js";

const EXECUTABLE = "pulumi-resource-apichat";

const named = z.union([z.string(), z.object({ source: z.string() }).transform(({ source }) => source)]);

/** Where the engine finds the resource plugin. */
export const pluginCheck = programCheck("plugin", isOnPlugin, ({ root, path, plugin }) => {
  const source = named.safeParse(plugin).data;
  if (source === undefined) {
    return warning(
      `not named in ${path}, so the engine takes an installed one, or the one of a resource's pluginDownloadURL`,
      "add packages: { apichat: ./node_modules/pulumi-apichat/plugin }",
    );
  }
  // Such as apichat@0.1.0, which the engine looks up itself.
  if (!/^[./~]|^[a-z]:/i.test(source)) return ok(source);
  const folder = resolve(root, source);
  if (existsSync(join(folder, EXECUTABLE)) || existsSync(join(folder, "PulumiPlugin.yaml"))) {
    return ok([findVersion(folder), folder].filter(Boolean).join(" in "));
  }
  return failed(`there is no ${EXECUTABLE} in ${folder}`, `run in ${root}: npm install`);
});

const manifest = z.object({ version: z.string() });

/** The version of the npm package around the plugin's folder. */
function findVersion(folder: string): string | undefined {
  const text = readFileIfExists(join(folder, "../package.json"));
  return text === undefined ? undefined : manifest.safeParse(JSON.parse(text)).data?.version;
}
