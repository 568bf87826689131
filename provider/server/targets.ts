import type { ServerConfig } from "./config.js";

/** Where the deliveries of the workspaces that forward go. */
export const targetsOf = ({ workspaces }: ServerConfig): Map<string, { url: string }> =>
  new Map(
    Object.entries(workspaces).flatMap(([name, { forwardTo }]) =>
      forwardTo === undefined ? [] : [[name, { url: forwardTo }] as const],
    ),
  );

/** A day, unless the configuration says otherwise. */
const FORWARD_WITHIN_SECONDS = 86_400;

/** How long a delivery is tried before it becomes a dead letter. */
export const maxAgeMsOf = ({ forwardWithinSeconds = FORWARD_WITHIN_SECONDS }: ServerConfig): number =>
  forwardWithinSeconds * 1000;
