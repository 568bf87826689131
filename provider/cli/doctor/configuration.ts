import { readdir, readFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import * as z from "zod";
import { formatUrl } from "../../lib/url.js";
import { parseYaml } from "../../lib/yaml-file.js";
import { ADDRESSES } from "../credential-options.js";
import { type Check, ok, skipped, type StackSettings, warning } from "./check.js";

/** Checks where the base URL and the API key come from. */
export const checkConfiguration: Check = async ({ credentials, ...facts }) => {
  const stacks = await facts.stacks;
  const unencrypted = stacks.filter(({ isKeyUnencrypted }) => isKeyUnencrypted);
  if (unencrypted.length > 0) {
    const places = unencrypted.map(({ place }) => place).join(", ");
    return warning(
      `apichat:apiKey is unencrypted in the settings of ${places}`,
      "pulumi config set --secret apichat:apiKey; then have the key replaced if the file was ever shared",
    );
  }
  const given = describe(
    await credentials.findAddress("baseUrl"),
    (await credentials.findSecret("apiKey")) !== undefined,
  );
  const found = [
    ...given.map((text) => text.replace(/^http/, "base URL http")),
    ...stacks
      .map(({ place, baseUrl, hasApiKey }) => ({ place, what: describe(baseUrl, hasApiKey) }))
      .filter(({ what }) => what.length > 0)
      .map(({ place, what }) => `${place}: ${what.join(", ")}`),
  ];
  if (found.length > 0) return ok(found.join("; "));
  return skipped(
    `no base URL: neither ${ADDRESSES.baseUrl.variable} nor apichat:baseUrl; each resource can have its own`,
  );
};

const describe = (baseUrl: string | undefined, hasApiKey: boolean): string[] => [
  ...(baseUrl === undefined ? [] : [formatUrl(baseUrl)]),
  ...(hasApiKey ? ["an API key"] : []),
];

/** Finds Pulumi.yaml in a folder or above it, as pulumi does. */
export async function findProjectFile(folder: string): Promise<string | undefined> {
  const names = await readdir(folder);
  const file = ["Pulumi.yaml", "Pulumi.yml"].find((name) => names.includes(name));
  if (file !== undefined) return join(folder, file);
  const above = dirname(folder);
  return above === folder ? undefined : findProjectFile(above);
}

/** Reads the settings of Pulumi.yaml, and of the stacks next to it, in files such as Pulumi.dev.yaml. */
export async function readStacks(projectFile: string | undefined): Promise<StackSettings[]> {
  if (projectFile === undefined) return [];
  const folder = dirname(projectFile);
  const names = (await readdir(folder)).filter((name) => /^Pulumi\..+\.ya?ml$/.test(name)).toSorted();
  return Promise.all([projectFile, ...names.map((name) => join(folder, name))].map(readStack));
}

const stackFile = z.nullable(z.object({ config: z.nullish(z.record(z.string(), z.unknown())) }));

/** Pulumi.yaml has the value in an object, because the name is of a different namespace. */
const projectValue = z.object({ value: z.unknown() }).transform(({ value }) => value);
const valueOf = (setting: unknown): unknown => projectValue.safeParse(setting).data ?? setting;

async function readStack(path: string): Promise<StackSettings> {
  const config = parseYaml(await readFile(path, "utf8"), stackFile, path)?.config ?? {};
  const [baseUrl, apiKey] = [valueOf(config["apichat:baseUrl"]), valueOf(config["apichat:apiKey"])];
  return {
    place: basename(path).replace(/^Pulumi\.(.+)\.ya?ml$/, "stack $1"),
    baseUrl: typeof baseUrl === "string" ? baseUrl : undefined,
    hasApiKey: apiKey !== undefined,
    isKeyUnencrypted: typeof apiKey === "string",
  };
}
