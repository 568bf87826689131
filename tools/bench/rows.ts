/** The table of the benchmark: what it measures, against what, and the target. */
import { compareWays, waitForService } from "./engine.ts";
import { compareSplits } from "./fleet.ts";
import {
  compareForwarding,
  compareResponder,
  compareStrangers,
  rejectBodies,
  reloadUnderLoad,
} from "./load.ts";
import type { Context, Samples } from "./measure.ts";
import { compareNode } from "./processes.ts";
import { verifySignatures } from "./small.ts";

/**
 * `value` is a sample, or two samples with an operator between spaces. `target` is a comparison, a number and
 * a unit.
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
const RECEIVER = "node:http that reads the body and checks the HMAC";
const LOAD = "1 KiB, 50 connections";
const NO_OP = "a no-op dynamic resource";
const DYNAMIC = "the dynamic provider";
const YAML = "on the plugin, YAML program";
const LATENCY = "a service of 150 ms, --parallel 32";
const ALONE = "one stack without checkpoints";

/** The rows, by the name for `--only`. */
export const ROWS: Readonly<Record<string, Row>> = {
  signature: row("10 seconds", verifySignatures, [
    ["verifySignature, 1 KiB (rate)", HMAC, "ours1 / bare1", ">= 0.95"],
    ["verifySignature, 64 KiB (rate)", HMAC, "ours64 / bare64", ">= 0.90"],
  ]),
  responder: row("a minute", compareResponder, [
    [`responder, ${LOAD} (deliveries per CPU time)`, RECEIVER, "bare cpu / ours cpu", ">= 0.75"],
    [`responder, ${LOAD} (p99)`, RECEIVER, "ours p99 / bare p99", "<= 1.50"],
  ]),
  refused: row("15 seconds", rejectBodies, [
    ["rejected body of 1 MiB, the worst of 8 (CPU)", "node:http that reads it", "ours / bare", "<= 3.00"],
  ]),
  stranger: row("a minute", compareStrangers, [
    ["first request on an unknown path, 30,000 workspaces", "one workspace", "ours - bare", "<= 20 ms"],
  ]),
  forwarding: row("four minutes", compareForwarding, [
    [`apichat responder stores, ${LOAD} (rate)`, RECEIVER, "stored / bare", ">= 0.70"],
    ["it stores and forwards (rate)", RECEIVER, "through / bare", ">= 0.40"],
    ["it forwards (rate)", "it accepts meanwhile", "forwarded / accepted", ">= 0.80"],
    ["accepting and forwarding (rate)", "storing only", "through / stored", ">= 0.80"],
    ["longest block of its event loop", "", "block", "<= 20 ms"],
  ]),
  reload: row("two minutes", reloadUnderLoad, [
    ["deliveries while 30,000 workspaces are reloaded (p99)", "without a reload", "ours / bare", "<= 3.00"],
  ]),
  "command-line": row("20 seconds", compareNode(["dist/provider/cli/main.js", "--help"], ["-e", "0"]), [
    ["apichat --help", "node -e 0", "ours - bare", "<= 80 ms"],
  ]),
  loading: row(
    "40 seconds",
    compareNode(
      ["-e", 'require("@pulumi/pulumi");require("pulumi-apichat")'],
      ["-e", 'require("@pulumi/pulumi")'],
    ),
    [["loading pulumi-apichat in a program", "@pulumi/pulumi alone", "ours - bare", "<= 20 ms"]],
  ),
  engine: row("five to ten minutes", compareWays, [
    ["up of all webhooks", NO_OP, "ours up / noOp up", "<= 1.15"],
    ["destroy", NO_OP, "ours destroy / noOp destroy", "<= 1.15"],
    [`up ${YAML}`, NO_OP, "yaml up / noOp up", "<= 0.60"],
    [`CPU of provider and program ${YAML}`, DYNAMIC, "yaml cpu / ours cpu", "<= 0.60"],
  ]),
  latency: row("two minutes", waitForService, [
    [`up, ${LATENCY}`, "2 calls each + up without latency", "ours up / floor up", "<= 1.25"],
    ["refresh", "1 call each + refresh without latency", "ours refresh / floor refresh", "<= 1.25"],
    ["destroy", "2 calls each + destroy without latency", "ours destroy / floor destroy", "<= 1.25"],
  ]),
  fleet: row("five minutes", compareSplits, [
    ["up of a fleet", "up of one stack with checkpoints", "fleet up / one stack up", "<= 0.10"],
    ["up of a fleet", `up of ${ALONE}`, "fleet up / without checkpoints up", "<= 1.20"],
    ["refresh of a fleet", `refresh of ${ALONE}`, "fleet refresh / without checkpoints refresh", "<= 1.50"],
    ["watch of a fleet", "preview --refresh of its stacks", "fleet watch / preview", "<= 1.20"],
    ["peak memory of a fleet, without the service", "", "memory", "<= 2560 MiB"],
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

/** Formats a number of this figure, with the unit of its target or as a ratio. */
export function format([, , , target]: Figure, number: number): string {
  const [, , unit] = target.split(" ");
  return unit === undefined ? number.toFixed(2) : `${number.toFixed(0)} ${unit}`;
}

export function isReached([, , , target]: Figure, number: number): boolean {
  const [comparison, limit] = target.split(" ");
  return comparison === "<=" ? number <= Number(limit) : number >= Number(limit);
}
