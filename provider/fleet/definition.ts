import { resolve } from "node:path";
import type { Unwrap } from "@pulumi/pulumi";
import * as z from "zod";
import { kindOf } from "../lib/values.js";
import { invalidConfig } from "../lib/files.js";
import { describeProblems, expected, refineWith, parse } from "../lib/validate.js";
import { problemsOfRotations } from "../responder/key-rules.js";
import type { VerificationKeyArgs } from "../verification-key/index.js";
import type { ApiChatWebhookArgs } from "../webhook/index.js";
import { type ListedWorkspace, checkWorkspaces, readWorkspaceList } from "../workspace-list/index.js";

/** A fleet: many workspaces, each with a webhook, split over stacks. */
export interface FleetDefinition {
  /** Prefix of each stack's name, such as `production-07-of-20`: lower-case letters, digits and "-". */
  name: string;
  /**
   * The number of stacks, from 1 to 999. It is part of each stack's name. A different number is rejected while
   * stacks with the old number exist. Default: the number of existing stacks; for a new fleet, one stack per
   * 500 workspaces of the list.
   */
  stacks?: number;
  /** The workspaces, or the path of a file that lists them (YAML or JSON), relative to the current folder. */
  workspaces: string | readonly ListedWorkspace[];
  /**
   * Returns the arguments of one workspace's webhook, as plain values. It is called in the fleet's own process,
   * for each workspace, before any engine starts.
   */
  webhook: (
    workspace: ListedWorkspace,
    run: {
      /** The rotations of the definition; empty if it has none. */
      rotations: readonly string[];
    },
  ) => WebhookArguments;
  /** The Pulumi project of the stacks. Default "apichat-fleet". */
  project?: string;
  /** The folder that the engine works in, relative to the current folder. Default ".fleet". */
  folder?: string;
  /** The secrets provider of new stacks, such as "awskms://…". Default: the backend's own. */
  secretsProvider?: string;
  /** For derived keys: the rotations to pass to `webhook`, newest first. To rotate, prepend a name and run `rotate`. */
  rotations?: readonly string[];
}

/**
 * The arguments of one workspace, as plain values: the fleet creates an `ApiChatWebhook` from them, and a
 * `VerificationKey` if they contain its arguments. Both resources are named after the workspace.
 */
export interface WebhookArguments extends Plain<
  Omit<ApiChatWebhookArgs, "webhookVerificationKey" | "baseUrl">
> {
  /** Address of the workspace's registration interface (section 4.1). */
  baseUrl: string;
  /** The key itself, or the arguments of a `VerificationKey`. Kept secret. */
  webhookVerificationKey: string | KeyArguments;
}

/** The arguments of a `VerificationKey`, as plain values. The command `rotate` sets the `rotation` of random keys. */
export type KeyArguments = Plain<Omit<VerificationKeyArgs, "rotation">>;

type Plain<T> = { [Name in keyof T]: Unwrap<T[Name]> };

const name = expected(
  '1 to 64 of a-z, 0-9 and "-", and start and end with a letter or digit',
  'for example "production"',
);

export function wholeNumberShape(min: number, max = Number.MAX_SAFE_INTEGER): z.ZodInt {
  const range = max === Number.MAX_SAFE_INTEGER ? `from ${min}` : `from ${min} to ${max}`;
  const error = expected(`a whole number ${range}`, `for example ${min + 1}`);
  return z.int({ error }).min(min, { error }).max(max, { error });
}

const project = expected('1 to 100 of A-Z, a-z, 0-9, ".", "_", "-"', 'omit it for "apichat-fleet"');

/** If the definition contains a list of workspaces, its entries are checked separately. */
const definitionShape = z.strictObject({
  // The name is part of the names of Pulumi stacks.
  name: z.string({ error: name }).regex(/^[a-z0-9](?:[a-z0-9-]{0,62}[a-z0-9])?$/, { error: name }),
  stacks: wholeNumberShape(1, 999).optional(),
  workspaces: z.custom<FleetDefinition["workspaces"]>(
    (value) => (typeof value === "string" && value !== "") || Array.isArray(value),
    {
      error: ({ input }) =>
        `must be a list or the path of a file, got ${kindOf(input)}; for example "workspaces.yaml"`,
    },
  ),
  webhook: z.custom<FleetDefinition["webhook"]>((value) => typeof value === "function", {
    error: ({ input }) =>
      `must be a function, got ${kindOf(input)}; write ({ baseUrl }, { rotations }) => ` +
      "({ baseUrl, webhookUrl, webhookVerificationKey: { derivedFrom, rotations } })",
  }),
  project: z
    .string({ error: project })
    .regex(/^[\w.-]{1,100}$/, { error: project })
    .default("apichat-fleet"),
  folder: z.string().min(1).default(".fleet"),
  secretsProvider: z.string().min(1).optional(),
  rotations: z.array(z.string()).superRefine(refineWith(problemsOfRotations)).default([]),
});

/** A valid definition with its defaults, and with its workspaces in the order of the list. */
export interface ResolvedFleet extends Omit<z.output<typeof definitionShape>, "workspaces"> {
  /** The folder that the engine works in: an absolute path. */
  folder: string;
  workspaces: readonly ListedWorkspace[];
}

export async function resolveFleet(definition: FleetDefinition): Promise<ResolvedFleet> {
  const { data, problems } = parse(definitionShape, definition);
  if (problems) throw invalidConfig(describeProblems(problems));
  const { workspaces } = data;
  return {
    ...data,
    folder: resolve(data.folder, data.name),
    workspaces:
      typeof workspaces === "string" ? await readWorkspaceList(workspaces) : checkWorkspaces(workspaces),
  };
}
