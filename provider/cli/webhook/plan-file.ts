import * as z from "zod";
import { checkSecret, checkUrl } from "../../resource/checks.js";
import { readYamlFile } from "../../yaml-file.js";

const url = (example: string): z.ZodType<string> =>
  z.string().superRefine((value, context) => {
    for (const { reason } of checkUrl("", value, example)) {
      context.addIssue({ code: "custom", message: reason.replace(/^: /, "") });
    }
  });

const secret = z.string().superRefine((value, context) => {
  for (const { reason } of checkSecret("", value, "copy it again from the platform's support")) {
    context.addIssue({ code: "custom", message: reason.replace(/^: /, "") });
  }
});

const shared = {
  webhookUrl: url("https://chat.example/webhooks/apichat").optional(),
  apiKey: secret.optional(),
  apiKeyEnv: z
    .string()
    // An empty variable counts as none, as everywhere.
    .refine((name) => Boolean(process.env[name]), {
      error: "must be the name of an environment variable that is set; set it, or name another",
    })
    .optional(),
};

const onceOnly = { error: "stands beside apiKeyEnv; give one of the two", path: ["apiKey"] };

const hasOneKey = ({ apiKey, apiKeyEnv }: { apiKey?: string; apiKeyEnv?: string }): boolean =>
  apiKey === undefined || apiKeyEnv === undefined;

const entryShape = z
  .strictObject({
    name: z.string().min(1, { error: "must not be empty" }),
    baseUrl: url("https://platform.example/acme/apichat"),
    botUrl: url("https://bots.example/api/apichat/f0123").optional(),
    ...shared,
  })
  .refine(hasOneKey, onceOnly);

const listShape = z
  .strictObject({
    ...shared,
    workspaces: z.array(entryShape).min(1, { error: "must have at least one entry" }),
  })
  .refine(hasOneKey, onceOnly)
  .superRefine((list, context) => {
    const names = list.workspaces.map(({ name }) => name);
    for (const [index, { name, webhookUrl }] of list.workspaces.entries()) {
      const path = ["workspaces", index];
      if (names.indexOf(name) !== index) {
        context.addIssue({ code: "custom", path: [...path, "name"], message: "is there more than once" });
      }
      if (webhookUrl === undefined && list.webhookUrl === undefined) {
        const message = "is missing, and there is none at the top; must be a text";
        context.addIssue({ code: "custom", path: [...path, "webhookUrl"], message });
      }
    }
  });

/** One workspace of a list, with its defaults. */
export interface PlannedWorkspace {
  name: string;
  baseUrl: string;
  webhookUrl: string;
  botUrl: string | undefined;
  /** undefined: that of the command. */
  apiKey: string | undefined;
}

/** Reads a list of workspaces (YAML or JSON). Throws `invalid_config` with everything that is wrong. */
export async function readPlanFile(path: string): Promise<PlannedWorkspace[]> {
  const { workspaces, ...defaults } = await readYamlFile(path, listShape);
  return workspaces.map((entry) => ({
    name: entry.name,
    baseUrl: entry.baseUrl,
    webhookUrl: entry.webhookUrl ?? defaults.webhookUrl ?? "",
    botUrl: entry.botUrl,
    apiKey: apiKeyOf(entry) ?? apiKeyOf(defaults),
  }));
}

const apiKeyOf = ({ apiKey, apiKeyEnv }: { apiKey?: string; apiKeyEnv?: string }): string | undefined =>
  apiKey ?? (apiKeyEnv === undefined ? undefined : process.env[apiKeyEnv]);
