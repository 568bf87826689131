import type { Registration } from "../../client/index.js";
import type { CommandRun } from "../run-command.js";

export interface Finding {
  /** Only `failed` makes the exit code 1. */
  status: "ok" | "warning" | "failed" | "skipped";
  text: string;
  hint?: string;
}

export interface Surroundings extends CommandRun {
  /** The current folder: an absolute path. */
  folder: string;
  webhookUrl: string | undefined;
}

/** Facts that several checks need, read once. If a promise rejects, each check that awaits it fails. */
export interface DoctorFacts extends Surroundings {
  /** The path of Pulumi.yaml; undefined if there is none here or above. */
  projectFile: string | undefined;
  baseUrl: string | undefined;
  /** Undefined if nothing is registered, or if base URL or API key are not known. */
  registration: Promise<Registration | undefined>;
}

/** Returns undefined if the check does not concern this program. */
export type DoctorCheck = (facts: DoctorFacts) => Finding | undefined | Promise<Finding | undefined>;

/** Time limit of each call and process, in milliseconds. */
export const LIMIT_MS = 10_000;

export const ok = (text: string): Finding => ({ status: "ok", text });

export const warning = (text: string, hint: string): Finding => ({ status: "warning", text, hint });

export const failed = (text: string, hint: string): Finding => ({ status: "failed", text, hint });

export const skipped = (text: string): Finding => ({ status: "skipped", text });
