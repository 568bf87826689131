import { describeTooMany } from "./failure-texts.js";
import {
  lookerOf,
  NOT_LOOKED_AT,
  type Create,
  type CreateState,
  type Look,
  type UnknownCause,
} from "./plan-look.js";
import type { Failure, StackReport } from "./reports.js";
import type { RunContext } from "./run-context.js";
import { limitsOf, type RunOptions } from "./run-options.js";
import { RunStop } from "./run-stop.js";

/**
 * `free`: nothing. `adopted`: our URL, so that `up` takes it as it is. `taken`: another URL, so that `up` fails there or takes
 * over, as the program says. `unknown`: the service did not say, or the API key is known to the program alone.
 */
export type CreateCounts = Record<CreateState, number>;

/** Why it is unknown what stands at so many workspaces. */
export interface UnknownReason extends UnknownCause {
  count: number;
}

/** What was seen, and why not everything was looked at, if so. */
export interface Looked {
  creates: CreateCounts;
  /** The most frequent first. */
  unknownReasons: UnknownReason[];
  /** Where the service refuses the API key. */
  failures: Failure[];
  stoppedBy?: string;
}

/**
 * Looks at each workspace where a webhook would be created, and counts. Nobody's registration is named. Ends early when the
 * failures are too many: a wrong key is wrong for all.
 */
export async function lookAtCreates(
  run: RunContext,
  stacks: readonly StackReport[],
  options: RunOptions,
): Promise<Looked> {
  const stop = new RunStop(run.action, (why) => options.onEvent?.({ type: "stopping", why }));
  const letGo = stop.follow(run, options);
  const look = lookerOf(run, stop.signal);
  const { stopAfterFailures } = limitsOf(options);
  const failures: Failure[] = [];
  const lookAndTell = async (create: Create): Promise<Look> => {
    const seen = await look(create);
    if (seen.state !== "unknown" || seen.failure === undefined) return seen;
    failures.push(seen.failure);
    options.onEvent?.({ type: "failure", failure: seen.failure });
    if (failures.length >= stopAfterFailures) stop.stop(describeTooMany(stopAfterFailures));
    return seen;
  };
  try {
    const looks = await Promise.all(findCreates(stacks).map(lookAndTell));
    return { ...sumUp(looks), failures, ...(stop.why === undefined ? {} : { stoppedBy: stop.why }) };
  } finally {
    letGo();
  }
}

/** Where nobody looked. */
export const countUnseen = (stacks: readonly StackReport[]): Looked => ({
  ...sumUp(findCreates(stacks).map(() => NOT_LOOKED_AT)),
  failures: [],
});

const findCreates = (stacks: readonly StackReport[]): Create[] =>
  stacks.flatMap(({ stack, webhooks }) =>
    webhooks.filter(({ change }) => change === "create").map((webhook) => ({ stack, webhook })),
  );

function sumUp(looks: readonly Look[]): Pick<Looked, "creates" | "unknownReasons"> {
  const creates: CreateCounts = { free: 0, adopted: 0, taken: 0, unknown: 0 };
  const reasons = new Map<string, UnknownReason>();
  for (const look of looks) {
    creates[look.state] += 1;
    if (look.state !== "unknown") continue;
    const known = reasons.get(look.cause.reason);
    reasons.set(look.cause.reason, { ...look.cause, count: (known?.count ?? 0) + 1 });
  }
  return { creates, unknownReasons: [...reasons.values()].toSorted((a, b) => b.count - a.count) };
}
