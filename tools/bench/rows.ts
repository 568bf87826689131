/** The table of the benchmark: what it measures, against what, and the target. */
import { compareNode, compareSignature } from "./code.ts";
import { compareSplits } from "./fleet.ts";
import { compareForwarding, compareResponder, reloadUnderLoad } from "./load.ts";
import type { Context, Samples } from "./measure.ts";

/**
 * `value` is the name of a sample, or two names with an operator and spaces between them. `target` is a
 * comparison, a number and a unit.
 */
export type Figure = readonly [what: string, against: string, value: string, target: string];

interface Row {
  /** Its usual duration. */
  takes: string;
  measure: (context: Context) => Promise<Samples>;
  figures: readonly Figure[];
}

const row = (takes: string, measure: Row["measure"], figures: readonly Figure[]): Row => ({
  takes,
  measure,
  figures,
});

const HMAC = "createHmac and timingSafeEqual";
const RECEIVER = "node:http, reading the body and checking the HMAC";
const LOAD = "1 KiB, 50 connections";
const ALONE = "one stack without checkpoints";
const SDK = 'require("@pulumi/pulumi")';

/** The rows, keyed by the names that `--only` accepts. */
export const ROWS: Readonly<Record<string, Row>> = {
  signature: row("10 seconds", compareSignature, [
    ["verifySignature, 1 KiB (rate)", HMAC, "bare1 / ours1", ">= 0.95"],
    ["verifySignature, 64 KiB (rate)", HMAC, "bare64 / ours64", ">= 0.90"],
  ]),
  responder: row("a minute", compareResponder, [
    [`responder, ${LOAD} (deliveries per CPU time)`, RECEIVER, "bare cpu / ours cpu", ">= 0.75"],
    [`responder, ${LOAD} (p99)`, RECEIVER, "ours p99 / bare p99", "<= 1.50"],
  ]),
  forwarding: row("four minutes", compareForwarding, [
    [`apichat responder stores, ${LOAD} (rate)`, RECEIVER, "stored accepted / bare accepted", ">= 0.70"],
    ["the responder stores and forwards (rate)", RECEIVER, "both through / bare accepted", ">= 0.40"],
    ["the responder forwards (rate)", "accepting in parallel", "both forwarded / both accepted", ">= 0.80"],
    ["accepting and forwarding (rate)", "storing only", "both through / stored accepted", ">= 0.80"],
    ["longest time that the responder's event loop was blocked", "", "both blockMs", "<= 20 ms"],
  ]),
  reload: row("two minutes", reloadUnderLoad, [
    ["p99 while 30,000 workspaces reload", "without a reload", "ours p99Ms / bare p99Ms", "<= 3.00"],
  ]),
  "command-line": row("20 seconds", compareNode(["dist/provider/cli/main.js", "--help"], ["-e", "0"]), [
    ["apichat --help", "node -e 0", "ours - bare", "<= 80 ms"],
  ]),
  loading: row("40 seconds", compareNode(["-e", `${SDK};require("pulumi-apichat")`], ["-e", SDK]), [
    ["loading pulumi-apichat in a program", "@pulumi/pulumi alone", "ours - bare", "<= 20 ms"],
  ]),
  fleet: row("five minutes", compareSplits, [
    ["up of a fleet", "up of one stack with checkpoints", "fleet up / one stack up", "<= 0.10"],
    ["up of a fleet", `up of ${ALONE}`, "fleet up / without checkpoints up", "<= 1.20"],
    ["refresh of a fleet", `refresh of ${ALONE}`, "fleet refresh / without checkpoints refresh", "<= 1.50"],
    ["peak memory of a fleet, without the service", "", "fleet memory", "<= 2560 MiB"],
  ]),
};

/** Returns the value of a figure in each round. */
export function valuesOf([, , value]: Figure, samples: Samples): number[] {
  const [ours = "", operator, bare = ""] = value.split(/ ([/-]) /);
  return (samples[ours] ?? []).map((one, round) => {
    const other = samples[bare]?.[round] ?? Number.NaN;
    if (operator === undefined) return one;
    return operator === "/" ? one / other : one - other;
  });
}

/** Formats a value of this row: with its target's unit, or as a ratio if the target has none. */
export function format([, , , target]: Figure, number: number): string {
  const [, , unit] = target.split(" ");
  return unit === undefined ? number.toFixed(2) : `${number.toFixed(0)} ${unit}`;
}

export function isReached([, , , target]: Figure, number: number): boolean {
  const [comparison, limit] = target.split(" ");
  return comparison === "<=" ? number <= Number(limit) : number >= Number(limit);
}
