import { stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import type { Input, Unwrap } from "@pulumi/pulumi";
import * as z from "zod";
import { ApiChatError } from "../errors/index.js";
import { kindOf } from "../lib/checks.js";
import { invalidConfig } from "../lib/files.js";
import { describeProblems, expected, refineWith, parse } from "../lib/validate.js";
import { problemsOfRotations } from "../responder/derive.js";
import type { VerificationKeyArgs } from "../verification-key/verification-key.js";
import type { ApiChatWebhookArgs } from "../webhook/webhook.js";
import type { ListedWorkspace } from "../workspace-list/entry-shape.js";
import { checkWorkspaces, readWorkspaceList } from "../workspace-list/read.js";

/** A fleet: many workspaces, split over stacks that one program declares. Everything in it can be sent to another process. */
export interface FleetDefinition {
  /** Prefix of each stack's name, such as `production-07-of-20`: lower-case letters, digits and "-". */
  name: string;
  /**
   * Number of stacks, from 1 to 999. It is part of each stack's name, and a different number is rejected while stacks with the
   * old one exist. Defaults to the number of existing stacks, or in a new fleet to one stack per 500 workspaces.
   */
  stacks?: number;
  /** The workspaces, or the file that lists them (YAML, JSON or CSV). A relative path starts at the current folder. */
  workspaces: string | readonly ListedWorkspace[];
  /** The module whose default export is the {@link FleetProgram}, such as `new URL("./program.ts", import.meta.url)`. */
  program: URL | string;
  /**
   * What registers the webhooks: the dynamic provider (default), or the resource plugin, which takes about half the time. On the
   * plugin the program gives the arguments of each webhook, see {@link WebhookArguments}. A change moves what is deployed, and
   * changes nothing at the service.
   */
  provider?: "dynamic" | "plugin";
  /** The Pulumi project of the stacks. Default "apichat-fleet". */
  project?: string;
  /** The secrets provider of new stacks, such as "awskms://…". Default: the backend's own. */
  secretsProvider?: string;
  /**
   * For derived keys: the rotations that the program gives to `VerificationKey`, the current one first. To rotate, put a new name
   * in front, and run `rotate`.
   */
  rotations?: readonly string[];
}

/** What a fleet's program gets: one stack of the fleet. */
export interface FleetStack {
  /** Such as `production-07-of-20`. */
  name: string;
  /** From 0. */
  index: number;
  workspaces: ListedWorkspace[];
  /**
   * For random keys: given while keys are rotated, such as "2026-12"; pass it on to `VerificationKey`, where it does nothing if it
   * is undefined.
   */
  rotation?: string;
  /** For derived keys: those of the definition; empty if it has none. */
  rotations: string[];
}

/** What the program declares for one workspace: an `ApiChatWebhook` has all of it. */
export interface DeclaredWebhook {
  botUrl: Input<string>;
  status: Input<string>;
}

/**
 * The arguments of one workspace, as plain values: the fleet makes an `ApiChatWebhook` of them, and a `VerificationKey` if those of
 * a key are given. Both have the workspace's name.
 */
export interface WebhookArguments extends Plain<Omit<ApiChatWebhookArgs, "webhookVerificationKey">> {
  /** The key itself, or the arguments of a `VerificationKey`. Kept secret. */
  webhookVerificationKey: string | KeyArguments;
}

/** The arguments of a `VerificationKey`, as plain values. */
export type KeyArguments = Plain<VerificationKeyArgs>;

/** The same without Outputs. */
type Plain<T> = { [Name in keyof T]: Unwrap<T[Name]> };

/** What a program gives for one workspace. */
export type Declared = DeclaredWebhook | WebhookArguments;

/**
 * Declares the webhooks of one stack and returns them by workspace name, as arguments or as resources. Each resource must have
 * its workspace's name: reports identify workspaces by it.
 */
export type FleetProgram = (
  stack: FleetStack,
) => Record<string, Declared> | Promise<Record<string, Declared>>;

const DEFAULT_PROJECT = "apichat-fleet";

const name = expected(
  '1 to 64 of a-z, 0-9 and "-", the first and the last a letter or a digit',
  'for example "production"',
);

const count = expected("a whole number from 1 to 999", "for example 20");

const project = expected('1 to 100 of A-Z, a-z, 0-9, ".", "_", "-"', `leave it out for "${DEFAULT_PROJECT}"`);

const provider = expected('"dynamic" or "plugin"', 'leave it out for "dynamic"');

const programError = expected(
  "the URL of a file or its path",
  'for example new URL("./program.ts", import.meta.url)',
);

const text = (wanted: string, hint: string): z.ZodType<string> => {
  // What is given is not shown: a secrets provider may have a token in its URL.
  const error: z.core.$ZodErrorMap = ({ input }) =>
    `must be ${wanted}, got ${input === "" ? "an empty text" : kindOf(input)}; ${hint}`;
  return z.string({ error }).min(1, { error });
};

/** What a fleet's definition must be, field by field. The workspaces of a list that is given are checked by their own shape. */
const definitionShape = z.strictObject({
  // A Pulumi stack has it in its name.
  name: z.string({ error: name }).regex(/^[a-z0-9](?:[a-z0-9-]{0,62}[a-z0-9])?$/, { error: name }),
  stacks: z.int({ error: count }).min(1, { error: count }).max(999, { error: count }).optional(),
  workspaces: z.custom<string | readonly unknown[]>(
    (value) => (typeof value === "string" && value !== "") || Array.isArray(value),
    {
      error: ({ input }) =>
        `must be a list or the path of a file, got ${kindOf(input)}; for example "workspaces.csv"`,
    },
  ),
  program: z
    .custom<URL | string>((value) => toFileUrl(value) !== undefined, { error: programError })
    .transform((value) => toFileUrl(value) ?? ""),
  provider: z.enum(["dynamic", "plugin"], { error: provider }).default("dynamic"),
  project: z
    .string({ error: project })
    .regex(/^[\w.-]{1,100}$/, { error: project })
    .default(DEFAULT_PROJECT),
  secretsProvider: text("a string", 'for example "awskms://alias/fleet", or leave it out').optional(),
  rotations: z.array(z.string()).superRefine(refineWith(problemsOfRotations)).default([]),
});

/** A path is taken from the current folder. Gives undefined for what is no file's address at all. */
function toFileUrl(program: unknown): string | undefined {
  const isUrl = program instanceof URL || (typeof program === "string" && /^[a-z][a-z+.-]+:/i.test(program));
  if (!isUrl) return typeof program === "string" && program !== "" ? pathToFileURL(program).href : undefined;
  try {
    const url = new URL(program);
    fileURLToPath(url);
    return url.href;
  } catch {
    // Of another scheme, or of another machine.
    return undefined;
  }
}

/** A fleet whose definition is sound, with its workspaces. */
export interface ResolvedFleet {
  name: string;
  project: string;
  /** As the definition has it. */
  stacks?: number;
  /** URL of the module with the program. */
  program: string;
  provider: "dynamic" | "plugin";
  /** The folder that the engine works in, beside the program. */
  folder: string;
  secretsProvider?: string;
  rotations: string[];
  /** In the order of the list. */
  workspaces: readonly ListedWorkspace[];
}

/** Checks a definition and reads the list. Throws `invalid_config` with everything that is wrong. */
export async function resolveFleet(definition: FleetDefinition): Promise<ResolvedFleet> {
  const { data, problems: wrong = [] } = parse(definitionShape, definition);
  const { workspaces, problems } = await openWorkspaces(definition);
  const all = [...describeProblems(wrong), ...(await problemsOfProgram(definition)), ...problems];
  if (data === undefined || all.length > 0) throw invalidConfig(all);
  const { stacks, secretsProvider, ...rest } = data;
  return {
    ...rest,
    ...(stacks === undefined ? {} : { stacks }),
    ...(secretsProvider === undefined ? {} : { secretsProvider }),
    folder: join(dirname(fileURLToPath(data.program)), ".fleet", data.name),
    workspaces,
  };
}

interface Opened {
  workspaces: ListedWorkspace[];
  problems: string[];
}

/** The list is looked at also if something else is wrong with the definition. */
async function openWorkspaces(definition: unknown): Promise<Opened> {
  const { data: given } = definitionShape.shape.workspaces.safeParse(fieldOf(definition, "workspaces"));
  if (given === undefined) return { workspaces: [], problems: [] };
  if (typeof given !== "string") return checkWorkspaces(given);
  try {
    return { workspaces: await readWorkspaceList(given), problems: [] };
  } catch (error) {
    if (!(error instanceof ApiChatError)) throw error;
    return { workspaces: [], problems: error.message.split("\n") };
  }
}

async function problemsOfProgram(definition: unknown): Promise<string[]> {
  const { data: program } = definitionShape.shape.program.safeParse(fieldOf(definition, "program"));
  if (program === undefined) return [];
  const path = fileURLToPath(program);
  const found = await stat(path).catch(() => undefined);
  return found?.isFile()
    ? []
    : [`program: must be a file, and ${path} is none; give the module of the program`];
}

const fieldOf = (value: unknown, field: keyof FleetDefinition): unknown =>
  typeof value === "object" && value !== null ? (value as Partial<FleetDefinition>)[field] : undefined;
