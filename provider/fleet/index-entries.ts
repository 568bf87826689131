import type { FleetIndex } from "./engine/task.js";
import type { StackReport, WebhookReport } from "./reports.js";

/** The bot URLs of a stack after it was run, by workspace. */
export function botUrlsOf({ webhooks }: StackReport): Record<string, string> {
  const standing = webhooks.flatMap(({ workspace, change, botUrl }) =>
    change === "delete" || botUrl === undefined ? [] : [[workspace, botUrl] as const],
  );
  return Object.fromEntries(standing);
}

/** Whether the index differs from what the stacks hold, by their previews. What is still to be created is not yet missing. */
export function isStale({ botUrls, stackOf }: FleetIndex, previews: readonly StackReport[]): boolean {
  return previews.some(({ stack, outcome, webhooks }) => {
    const known = new Set(webhooks.map(({ workspace }) => workspace));
    const isForgotten = (workspace: string): boolean =>
      outcome === "done" && stackOf[workspace] === stack && !known.has(workspace);
    const isWrong = ({ workspace, change, botUrl }: WebhookReport): boolean =>
      change !== "create" &&
      botUrl !== undefined &&
      (botUrls[workspace] !== botUrl || stackOf[workspace] !== stack);
    return webhooks.some(isWrong) || Object.keys(botUrls).some(isForgotten);
  });
}

/** What a run tells of the bot URLs. */
export interface IndexNews {
  /** The stacks that were run. */
  reports: readonly StackReport[];
  /** The stacks that were left out, because the run that is resumed has done them. */
  doneBefore: readonly { stack: string; botUrls: Record<string, string> }[];
}

/** The index after a run: of a stack that was not done, what is not known to be gone stays. */
export function nextIndex(before: FleetIndex, { reports, doneBefore }: IndexNews): FleetIndex {
  const places = new Map(
    Object.entries(before.botUrls).map(([workspace, botUrl]) => [
      workspace,
      { botUrl, stack: before.stackOf[workspace] ?? "" },
    ]),
  );
  const forget = (isGone: (workspace: string, stack: string) => boolean): void => {
    for (const [workspace, { stack }] of places) if (isGone(workspace, stack)) places.delete(workspace);
  };
  const note = (stack: string, botUrls: Record<string, string>): void => {
    for (const [workspace, botUrl] of Object.entries(botUrls)) places.set(workspace, { botUrl, stack });
  };
  for (const { stack, botUrls } of doneBefore) {
    forget((_, at) => at === stack);
    note(stack, botUrls);
  }
  for (const report of reports) {
    const gone = new Set(
      report.webhooks.flatMap(({ workspace, change }) => (change === "delete" ? [workspace] : [])),
    );
    forget((workspace, at) => at === report.stack && (report.outcome === "done" || gone.has(workspace)));
    note(report.stack, botUrlsOf(report));
  }
  return toIndex(places);
}

/** Sorted, so that a state file and its differences are readable. */
function toIndex(places: ReadonlyMap<string, { botUrl: string; stack: string }>): FleetIndex {
  const sorted = [...places].toSorted(([a], [b]) => (a < b ? -1 : 1));
  return {
    botUrls: Object.fromEntries(sorted.map(([workspace, { botUrl }]) => [workspace, botUrl])),
    stackOf: Object.fromEntries(sorted.map(([workspace, { stack }]) => [workspace, stack])),
  };
}
