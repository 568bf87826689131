import { readFile } from "node:fs/promises";
import { basename, join } from "node:path";
import * as z from "zod";
import { formatUrl } from "../../lib/url.js";
import { parseYaml } from "../../lib/yaml-file.js";
import { ADDRESSES } from "../credential-options.js";
import { type Check, findProgram, listStackFiles, ok, skipped, type Surroundings, warning } from "./check.js";

const stackFile = z.nullable(z.object({ config: z.nullish(z.record(z.string(), z.unknown())) }));

/** The settings of this provider of one stack, or of all. */
interface StackSettings {
  /** Such as "stack dev"; for all of them "Pulumi.yaml". */
  place: string;
  baseUrl: string | undefined;
  hasApiKey: boolean;
  /** The API key is in the file in clear text. */
  isKeyInClear: boolean;
}

/** Where the base URL and the API key come from. */
export const configurationCheck: Check = {
  name: "configuration",
  run: async (surroundings) => {
    const stacks = await readStacks(surroundings.folder);
    const inClear = stacks.filter(({ isKeyInClear }) => isKeyInClear);
    if (inClear.length > 0) {
      return warning(
        `apichat:apiKey is in clear text in the settings of ${namesOf(inClear)}`,
        "pulumi config set --secret apichat:apiKey; then have the key replaced if the file was ever shared",
      );
    }
    const found = await describeFound(surroundings, stacks);
    if (found.length > 0) return ok(found.join("; "));
    return skipped(
      `no base URL: neither ${ADDRESSES.baseUrl.variable} nor apichat:baseUrl; each resource can have its own`,
    );
  },
};

/** The base URL to check: that of the options and the environment, else that of the stacks if they agree. */
export async function findBaseUrl({ credentials, folder }: Surroundings): Promise<string | undefined> {
  const given = await credentials.findAddress("baseUrl");
  if (given !== undefined) return given;
  const urls = new Set((await readStacks(folder)).flatMap(({ baseUrl }) => baseUrl ?? []));
  return urls.size === 1 ? [...urls][0] : undefined;
}

async function describeFound(
  { credentials }: Surroundings,
  stacks: readonly StackSettings[],
): Promise<string[]> {
  const given = await credentials.findAddress("baseUrl");
  const hasKey = (await credentials.findSecret("apiKey")) !== undefined;
  return [
    ...(given === undefined ? [] : [`base URL ${formatUrl(given)}`]),
    ...(hasKey ? ["an API key"] : []),
    ...stacks
      .filter(({ baseUrl, hasApiKey }) => baseUrl !== undefined || hasApiKey)
      .map((settings) => `${settings.place}: ${describeStack(settings)}`),
  ];
}

const describeStack = ({ baseUrl, hasApiKey }: StackSettings): string =>
  [...(baseUrl === undefined ? [] : [formatUrl(baseUrl)]), ...(hasApiKey ? ["an API key"] : [])].join(", ");

async function readStacks(folder: string): Promise<StackSettings[]> {
  const program = await findProgram(folder);
  if (program === undefined) return [];
  return Promise.all([join(program.folder, program.file), ...(await listStackFiles(program))].map(readStack));
}

/** Pulumi.yaml has the value in an object: the name is not of its own namespace. */
const projectValue = z.object({ value: z.unknown() }).transform(({ value }) => value);
const valueOf = (setting: unknown): unknown => projectValue.safeParse(setting).data ?? setting;

async function readStack(path: string): Promise<StackSettings> {
  const config = parseYaml(await readFile(path, "utf8"), stackFile, path)?.config ?? {};
  const [baseUrl, apiKey] = [valueOf(config["apichat:baseUrl"]), valueOf(config["apichat:apiKey"])];
  return {
    place: basename(path).replace(/^Pulumi\.(.+)\.ya?ml$/, "stack $1"),
    baseUrl: typeof baseUrl === "string" ? baseUrl : undefined,
    hasApiKey: apiKey !== undefined,
    isKeyInClear: typeof apiKey === "string",
  };
}

const namesOf = (stacks: readonly StackSettings[]): string => stacks.map(({ place }) => place).join(", ");
