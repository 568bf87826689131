import type { Input } from "@pulumi/pulumi";
import type { ListedWorkspace } from "../workspace-list/entry-shape.js";

/** A fleet: many workspaces, split over stacks that one program declares. Everything in it can be sent to another process. */
export interface FleetDefinition {
  /** Starts the name of each stack, such as `production-07-of-20`: lower-case letters, digits and "-". */
  name: string;
  /**
   * How many stacks, from 1 to 999. Choose it for the size that the fleet will reach: about 100 workspaces in each. It stands
   * in the name of each stack, and another number is refused while stacks of the old one exist.
   */
  stacks: number;
  /** The workspaces, or the file that lists them (YAML, JSON or CSV). A relative path starts at the current folder. */
  workspaces: string | readonly ListedWorkspace[];
  /** The module whose default export is the {@link FleetProgram}, such as `new URL("./program.ts", import.meta.url)`. */
  program: URL | string;
  /** The Pulumi project of the stacks. Default "apichat-fleet". */
  project?: string;
  /** The secrets provider of new stacks, such as "awskms://…". Default: the backend's own. */
  secretsProvider?: string;
  /** Where a run notes what is done, for `--resume`. Default: `.fleet/<name>` beside the program. */
  dataDir?: string;
}

/** What a fleet's program gets: one stack of the fleet. */
export interface FleetStack {
  /** Such as `production-07-of-20`. */
  name: string;
  /** From 0. */
  index: number;
  workspaces: readonly ListedWorkspace[];
  /** Given while keys are rotated, such as "2026-12"; pass it on to `VerificationKey`, where it does nothing if it is undefined. */
  rotation: string | undefined;
}

/** What the program declares for one workspace: an `ApiChatWebhook` has all of it. */
export interface DeclaredWebhook {
  botUrl: Input<string>;
  status: Input<string>;
}

/**
 * Declares the webhooks of one stack, and gives them by the workspace's name. The name of each resource is the name of its
 * workspace: reports tell workspaces by it.
 */
export type FleetProgram = (
  stack: FleetStack,
) => Record<string, DeclaredWebhook> | Promise<Record<string, DeclaredWebhook>>;
