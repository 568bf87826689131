/** The table of the benchmark: what is measured, against what, and what is promised. */
import { compareWays, measureStates, rotateResponders, waitForService } from "./engine.ts";
import { compareProviders, compareSplits, drawCurve, growTenfold, rotateUnderLoad } from "./fleet.ts";
import { compareResponder, compareSpool, converse, growHeap, refuseBodies, resistSlow } from "./load.ts";
import type { Context, Samples } from "./measure.ts";
import { compareNode, startPlugin } from "./processes.ts";
import { bundleWorker, callClients, logLines, verifyInWorker, verifySignatures } from "./small.ts";

/** `ratio` divides the first sample by the second, `inverse` the second by the first; another unit subtracts. */
type Unit = "ratio" | "inverse" | "ms" | "bytes" | "MiB" | "refused";

/** One promise. */
export interface Figure {
  what: string;
  /** Empty for a value of its own. */
  against: string;
  atMost?: number;
  atLeast?: number;
  unit: Unit;
  /** The names of the samples: ours and, if it is compared, the other side's. */
  of: readonly [ours: string, bare?: string];
}

/** A part of the benchmark that can be run by itself. */
interface Row {
  /** As `--only` names it. */
  name: string;
  /** How long it takes. */
  takes: string;
  measure: (context: Context) => Promise<Samples>;
  figures: Figure[];
}

const row = (name: string, takes: string, measure: Row["measure"], ...figures: Figure[]): Row => ({
  name,
  takes,
  measure,
  figures,
});

const BOTH = ["ours", "bare"] as const;
type Of = Figure["of"];
const most = (
  atMost: number,
  what: string,
  against: string,
  of: Of = BOTH,
  unit: Unit = "ratio",
): Figure => ({
  what,
  against,
  atMost,
  of,
  unit,
});
const least = (atLeast: number, what: string, against: string, of: Of = BOTH): Figure => ({
  what,
  against,
  atLeast,
  of,
  unit: "ratio",
});
/** The same sample of both sides. */
const both = (key: string): Of => [`ours ${key}`, `bare ${key}`];

const NO_OP = "a no-op dynamic resource";
const DYNAMIC = "the dynamic provider";
const NODE = "on the plugin, Node program";
const YAML = "on the plugin, YAML program";
const RECEIVER = "node:http that reads the body and checks the HMAC";
const UNDICI = "undici request over 8 connections, and JSON.parse";
const ALONE = "one stack, without checkpoints";
const LOAD = "1 KiB, 50 connections";
const FLEET_OF_ALL = "up of a fleet of ten times as many workspaces";

export const ROWS: readonly Row[] = [
  row(
    "signature",
    "10 seconds",
    verifySignatures,
    least(0.9, "verifySignature, 1 KiB (rate)", "createHmac and timingSafeEqual", ["ours1", "bare1"]),
    least(0.9, "verifySignature, 64 KiB (rate)", "createHmac and timingSafeEqual", ["ours64", "bare64"]),
  ),
  row(
    "workerd",
    "10 seconds",
    verifyInWorker,
    least(0.85, "verifySignature in workerd, 1 KiB (rate)", "WebCrypto verify with an imported key"),
  ),
  row(
    "bundle",
    "a moment",
    bundleWorker,
    most(6 * 1024, "Worker bundle, the responder alone (minified, gzipped)", "", ["ours"], "bytes"),
  ),
  row(
    "client",
    "20 seconds",
    callClients,
    least(0.85, "RegistrationClient.getWebhook, 8 at once (rate)", UNDICI, ["getWebhook", "bareGet"]),
    least(0.85, "MessageClient.sendText, 16 at once (rate)", UNDICI, ["sendText", "bareSend"]),
  ),
  row(
    "responder",
    "a minute",
    compareResponder,
    least(0.7, `responder, ${LOAD} (rate)`, RECEIVER, both("rate")),
    most(1.5, `responder, ${LOAD} (p99)`, RECEIVER, both("p99")),
  ),
  row("heap", "30 seconds", growHeap, most(1.1, "heap after 200,000 deliveries", "after 10,000")),
  row(
    "refused",
    "15 seconds",
    refuseBodies,
    most(3, "a refused body of 1 MiB, the worst of 8 shapes (CPU)", "node:http that reads it"),
  ),
  row(
    "log-line",
    "5 seconds",
    logLines,
    most(20, "a log line, redacted for 2,000 keys (time)", "JSON.stringify of it", BOTH, "inverse"),
  ),
  row(
    "spool",
    "30 seconds",
    compareSpool,
    least(2, `apichat responder with spool, ${LOAD} (rate)`, "node:http and SQLite, one commit a request"),
  ),
  row(
    "slow",
    "80 seconds",
    resistSlow,
    most(2, "p99 of a delivery beside 1,000 slow connections, which are ended", "without them"),
  ),
  row(
    "emulator",
    "40 seconds",
    converse,
    least(
      0.5,
      "emulator, a message in and a signed reply delivered, 64 conversations (rate)",
      "hono taking a JSON post and undici sending one",
    ),
  ),
  row(
    "command-line",
    "20 seconds",
    compareNode(["dist/provider/cli/main.js", "--help"], ["-e", "0"]),
    most(80, "apichat --help", "node -e 0", BOTH, "ms"),
  ),
  row(
    "loading",
    "40 seconds",
    compareNode(
      ["-e", 'require("@pulumi/pulumi");require("pulumi-apichat")'],
      ["-e", 'require("@pulumi/pulumi")'],
    ),
    most(20, "loading pulumi-apichat in a program", "@pulumi/pulumi alone", BOTH, "ms"),
  ),
  row(
    "plugin-start",
    "15 seconds",
    startPlugin,
    most(250, "the plugin's start to its port (CPU)", "node -e 0", BOTH, "ms"),
  ),
  row(
    "state",
    "20 seconds",
    measureStates,
    most(1.3, "exported state of one webhook", NO_OP, ["ours", "noOp"]),
    most(200, "__provider in it", "", ["code"], "bytes"),
    most(0.95, `exported state of one webhook ${NODE}`, DYNAMIC, ["plugin", "ours"]),
  ),
  row(
    "engine",
    "eight to fifteen minutes",
    compareWays,
    most(1.15, "up of all webhooks", NO_OP, ["ours up", "noOp up"]),
    most(1.15, "destroy", NO_OP, ["ours destroy", "noOp destroy"]),
    most(0.85, "up", "the same as a plain closure", ["ours up", "plain up"]),
    most(0.6, `up ${YAML}`, NO_OP, ["yaml up", "noOp up"]),
    most(0.75, `up ${NODE}`, DYNAMIC, ["plugin up", "ours up"]),
    most(0.6, `CPU of provider and program ${YAML}`, DYNAMIC, ["yaml cpu", "ours cpu"]),
    most(0.6, `CPU of provider and program ${NODE}`, DYNAMIC, ["plugin cpu", "ours cpu"]),
  ),
  row(
    "latency",
    "two minutes",
    waitForService,
    most(1.25, "up, a service of 150 ms, --parallel 32", "2 calls each + up without latency", both("up")),
    most(1.25, "refresh", "1 call each + refresh without latency", both("refresh")),
    most(1.25, "destroy", "2 calls each + destroy without latency", both("destroy")),
  ),
  row(
    "many-workspaces",
    "half a minute",
    rotateResponders,
    most(3, "up of a HandshakeResponder of 1,000 workspaces (time)", "of one workspace", both("up")),
    most(3, "a rotation of all keys in it", "of one workspace", both("rotation")),
    most(3, "destroy", "of one workspace", both("destroy")),
  ),
  row(
    "fleet",
    "five minutes",
    compareSplits,
    most(0.18, "up of a fleet", "up of one stack", ["fleet: up", "one stack: up"]),
    most(1.2, "up of a fleet", `up of ${ALONE}`, ["fleet: up", `${ALONE}: up`]),
    most(1.5, "refresh of a fleet", `refresh of ${ALONE}`, ["fleet: refresh", `${ALONE}: refresh`]),
    most(2.5, "watch of a fleet", `refresh of ${ALONE}`, ["fleet: watch", `${ALONE}: refresh`]),
  ),
  row(
    "ten-times",
    "a quarter of an hour",
    growTenfold,
    most(1.05, FLEET_OF_ALL, "ten times up of the fleet"),
    most(2560, "its peak memory, without the service", "", ["memory"], "MiB"),
  ),
  row("plugin-fleet", "five minutes", compareProviders, most(0.7, `${FLEET_OF_ALL}, plugin`, DYNAMIC)),
  row("curve", "seven minutes after the row fleet", drawCurve),
  row(
    "rotation",
    "two minutes",
    rotateUnderLoad,
    most(0, "deliveries during a rotation in waves", "", ["refused"], "refused"),
  ),
];

/** The value of a figure in each round. */
export function valuesOf({ of: [ours, bare], unit }: Figure, samples: Samples): number[] {
  return (samples[ours] ?? []).map((value, round) => {
    if (bare === undefined) return value;
    const other = samples[bare]?.[round] ?? Number.NaN;
    if (unit === "inverse") return other / value;
    return unit === "ratio" ? value / other : value - other;
  });
}

/** As people read it. */
export function format(number: number, unit: Unit): string {
  return unit === "ratio" || unit === "inverse" ? number.toFixed(2) : `${number.toFixed(0)} ${unit}`;
}
