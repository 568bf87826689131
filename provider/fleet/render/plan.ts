import type { FleetPlan } from "../plan.js";
import { code, heading, line, tableOf, type Block, type Piece } from "./document.js";
import { renderAs, type Format, type RenderOptions } from "./render.js";
import {
  count,
  listOthers,
  describeCalls,
  describeFailures,
  describeStop,
  duration,
  listNames,
} from "./wording.js";

/** Reasons in a line. */
const MOST_REASONS = 3;

/** What each stack of a fleet would do, and what is registered where a webhook would be created. */
export const renderPlan = (plan: FleetPlan, format: Format, options?: RenderOptions): string =>
  renderAs(plan, format, describePlan, options);

function describePlan(plan: FleetPlan, program: string): Block[] {
  return [
    heading(`Plan of the fleet ${plan.fleet}: ${plan.outcome} in ${duration(plan.seconds)}`),
    ...describeStacks(plan),
    ...describeCreates(plan),
    ...describeRefusedKeys(plan, program),
    ...describeTakenOver(plan, program),
    ...describeRemovals(plan.removals),
    ...describeOthers(plan),
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
function describeCreates({
  creates: { free, adopted, taken, unknown },
  unknownReasons,
  totals,
}: FleetPlan): Block[] {
  if (totals.create === 0) return [];
  const found = [
    `${free} free`,
    `${adopted} adopted (your URL stands there)`,
    `${taken} taken by another URL`,
    `${unknown} unknown${describeReasons(unknownReasons)}`,
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

/** Such as ": 12 unauthorized (HTTP 401), 1 timeout". */
function describeReasons(reasons: FleetPlan["unknownReasons"]): string {
  if (reasons.length === 0) return "";
  const shown = reasons.slice(0, MOST_REASONS).map((one) => `${one.count} ${one.reason}`);
  const more = reasons.length - MOST_REASONS;
  return `: ${shown.join(", ")}${more > 0 ? ` and ${count(more, "other reason")}` : ""}`;
}

function describeRefusedKeys({ unknownReasons }: FleetPlan, program: string): Block[] {
  if (!unknownReasons.some(({ code: reason }) => reason === "unauthorized")) return [];
  const what = "The service refuses an API key, so up would fail. Give the key of today as ";
  return [
    line(
      what,
      code("APICHAT_API_KEY"),
      ", or as apiKey or apiKeyEnv in the list, then: ",
      code(`${program} plan`),
    ),
  ];
}

function describeTakenOver({ takenOver }: FleetPlan, program: string): Block[] {
  if (takenOver === 0) return [];
  const what = `${count(takenOver, "workspace")} taken over by somebody else: up fails there. Which: `;
  return [line(what, code(`${program} watch`))];
}

function describeOthers({ others, index }: FleetPlan): Block[] {
  const told = others.length === 0 ? [] : [line(`Besides the webhooks: ${listOthers(others)}.`)];
  return index === "current" ? told : [...told, line("The index stack is stale: up writes it.")];
}

function describeRemovals(removals: readonly string[]): Block[] {
  if (removals.length === 0) return [];
  const what = `${count(removals.length, "workspace")} left the list and would lose the webhook: `;
  return [line(what, ...listNames(removals))];
}
