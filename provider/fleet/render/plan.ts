import type { FleetPlan } from "../plan.js";
import { code, heading, line, tableOf, type Block, type Piece } from "./document.js";
import { renderAs, type Format, type RenderOptions } from "./render.js";
import { count, describeCalls, describeFailures, describeStop, duration, listNames } from "./wording.js";

/** What each stack of a fleet would do, and what is registered where a webhook would be created. */
export const renderPlan = (plan: FleetPlan, format: Format, options?: RenderOptions): string =>
  renderAs(plan, format, describePlan, options);

/** Also for `up`, which shows it first. */
export function describePlan(plan: FleetPlan): Block[] {
  return [
    heading(`Plan of the fleet ${plan.fleet}: ${plan.outcome} in ${duration(plan.seconds)}`),
    ...describeStacks(plan),
    ...describeCreates(plan),
    ...describeRemovals(plan.removals),
    ...describeFailures(plan.failures),
    ...describeStop(plan),
    describeCalls(plan.calls, plan.answers429),
  ];
}

function describeStacks({ stacks, totals }: FleetPlan): Block[] {
  return tableOf({
    head: ["stack", "plan", "create", "update", "delete", "same", "failures"],
    rows: stacks.map((stack) => [
      code(stack.stack),
      stack.outcome,
      ...cellsOf(stack),
      String(stack.failures.length),
    ]),
    totals: [
      "total",
      "",
      ...cellsOf(totals),
      String(stacks.reduce((sum, { failures }) => sum + failures.length, 0)),
    ],
    of: "stacks",
  });
}

const cellsOf = (changes: FleetPlan["totals"]): Piece[] =>
  [changes.create, changes.update, changes.delete, changes.same].map(String);

/** Whoever else is registered at a workspace is counted here, and named only by the command that one asks for it. */
function describeCreates({ creates: { free, adopted, taken, unknown }, totals }: FleetPlan): Block[] {
  if (totals.create === 0) return [];
  const found = [
    `${free} free`,
    `${adopted} adopted (your URL stands there)`,
    `${taken} taken by another URL`,
    `${unknown} unknown (no answer, or an unclear one)`,
  ];
  const told: Block[] = [line(`To be created: ${found.join(", ")}.`)];
  if (taken + unknown > 0) {
    told.push(
      line(`Which ${taken + unknown === 1 ? "one it is" : "ones they are"}: `, {
        code: "apichat webhook plan --file LIST",
      }),
    );
  }
  return told;
}

function describeRemovals(removals: readonly string[]): Block[] {
  if (removals.length === 0) return [];
  const what = `${count(removals.length, "workspace")} left the list and would lose the webhook: `;
  return [line(what, ...listNames(removals))];
}
