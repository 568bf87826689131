import type { Failure as ErrorData } from "../errors/index.js";
import type { Drift, Failure } from "./reports.js";

/** How a workspace differs. Not the service but the list has gone on: `not-deployed`, `to-be-removed`. */
export type DriftKind = Drift["kind"] | "not-deployed" | "to-be-removed";

/** `other`: a resource that is no webhook. */
export type RepairKind = DriftKind | "other";

/** A failure, and what to do about it. */
export interface HintedFailure extends Failure {
  repair: string;
}

/** How the fleet's command line is called, unless somebody says otherwise. */
export const DEFAULT_COMMAND = "node fleet.ts";

/**
 * The command that repairs a difference. `command` is how the fleet's command line is called; `removal` removes the webhook of
 * somebody else.
 */
export const repairOf = (kind: RepairKind, command: string, removal = ""): string =>
  REPAIRS[kind](command, removal);

const REPAIRS: Record<RepairKind, (command: string, removal: string) => string> = {
  changed: (command) => `${command} up --refresh`,
  gone: (command) => `${command} up --refresh`,
  "taken-over": (command, removal) =>
    `find out whose the other webhook is; if it may go: ${removal}; then ${command} up --refresh`,
  other: (command) => `${command} up --refresh`,
  "not-deployed": (command) => `${command} up`,
  "to-be-removed": (command) => `${command} up, or put the workspace back into the list`,
};

/** Adds what to do about a failure of a watch. */
export const toHinted = (failure: Failure, command: string): HintedFailure => ({
  ...failure,
  repair: (failure.error ? hintOfError(failure.error) : hintOfEngine(failure.message))(command),
});

type Repair = (command: string) => string;

const FIX_IT: Repair = (command) => `fix what the message says, then ${command} watch`;

function hintOfError({ code, httpStatus, hints }: ErrorData): Repair {
  if (hints.some(({ id }) => id === "other_workspace"))
    return (command) => `fix baseUrl or API key of this workspace in the list, then ${command} watch`;
  if (code === "unauthorized")
    return (command) =>
      `give the workspace's API key of today (APICHAT_API_KEY, or apiKey or apiKeyEnv in the list), then ${command} up`;
  if (httpStatus === 429)
    return (command) => `the service asks for fewer calls: later ${command} watch --calls-per-origin 2`;
  if (code === "unavailable" || code === "timeout")
    return (command) => `the service could not be asked: ${command} watch, when it is up`;
  return FIX_IT;
}

/** What the engine's own messages ask for: the first that fits. */
const ENGINE_HINTS: readonly [RegExp, Repair][] = [
  [
    /passphrase/i,
    (command) => `set PULUMI_CONFIG_PASSPHRASE to the passphrase of the stacks, then ${command} watch`,
  ],
  [
    /PULUMI_ACCESS_TOKEN|pulumi login/,
    (command) => `log in to the backend (PULUMI_ACCESS_TOKEN, or pulumi login), then ${command} watch`,
  ],
  [/Cannot find module|could not read plugin/, (command) => `npm ci, then ${command} watch`],
];

const hintOfEngine = (message: string): Repair =>
  ENGINE_HINTS.find(([pattern]) => pattern.test(message))?.[1] ?? FIX_IT;
