import { CommandError } from "@pulumi/pulumi/automation/index.js";
import { linesOf } from "./diagnostics.js";

/** What `preview --expect-no-changes` ends with if there are changes. */
const CHANGES_FOUND = /Command failed with exit code 7\b/;

export const saysChanges = (error: unknown): boolean =>
  error instanceof CommandError && CHANGES_FOUND.test(error.message);

/** The line of a failed command that says why, without the whole output that the SDK puts around it. */
export function describeCommandError(error: unknown): string {
  if (!(error instanceof CommandError)) return error instanceof Error ? error.message : String(error);
  const lines = linesOf(error.message);
  const reasons = lines.flatMap((line) => /^(?: *stderr: )?error: (.*)$/.exec(line)?.[1] ?? []);
  if (reasons.length > 0) return [...new Set(reasons)].map(addHint).join("\n");
  // Without one it did not end by itself, such as "Command was killed with SIGKILL: pulumi up …".
  const [first] = lines.flatMap((line) => /(Command (?:failed|was|timed).*?): /.exec(line)?.[1] ?? []);
  return `pulumi: ${first ?? lines[0] ?? "no reason given"}`;
}

/** What the engine says of a missing login speaks of one backend only. */
const addHint = (reason: string): string =>
  /PULUMI_ACCESS_TOKEN must be set/.test(reason)
    ? `${reason}; for another backend than Pulumi Cloud set PULUMI_BACKEND_URL, such as s3://your-bucket, or run pulumi login`
    : reason;
