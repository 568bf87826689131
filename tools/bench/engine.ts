import { withBed, type Bed } from "./bed.ts";
import type { Measurement, Row, RowContext } from "./measurement.ts";
import { alternate, median, pairwise, timeOf } from "./statistics.ts";

const SIDES = ["ours", "noOp", "plain"] as const;
type Side = (typeof SIDES)[number];

/** The commands of one turn, in milliseconds, and what the service saw of them. */
interface Turn {
  upMs: number;
  destroyMs: number;
  /** How often each action was called. */
  calls: Record<string, number>;
}

/** What this package costs, and saves, in `pulumi up` and `pulumi destroy` of many webhooks. */
export const engineRow: Row = {
  name: "engine",
  title: "pulumi up and destroy of many webhooks, three ways: five to ten minutes",
  measure: (context) =>
    withBed({ sides: SIDES, workspaces: context.webhooks, signal: context.signal }, (bed) =>
      measureEngine(bed, context),
    ),
};

async function measureEngine(
  bed: Bed<Side>,
  { webhooks, engineRounds, signal, update }: RowContext,
): Promise<Measurement[]> {
  const turnOf = (side: Side, count: number) => (): Promise<Turn> => runTurn(bed, side, count);
  const sidesWith = (count: number): Record<Side, () => Promise<Turn>> => ({
    ours: turnOf("ours", count),
    noOp: turnOf("noOp", count),
    plain: turnOf("plain", count),
  });
  update("one webhook each, to warm up");
  await alternate(sidesWith(1), { rounds: 1, signal });
  const turns = await alternate(sidesWith(webhooks), {
    rounds: engineRounds,
    signal,
    onTurn: (side, round) => update(`round ${round} of ${engineRounds}: ${side}`),
  });
  requireSameCalls(turns.ours, turns.plain);
  const up = timesOf(turns, "upMs");
  const destroy = timesOf(turns, "destroyMs");
  const given = { count: webhooks, target: { atMost: 1.15 }, against: "noOp" } as const;
  return [
    compare("up", up, given),
    compare("destroy", destroy, given),
    compare("up", up, { ...given, target: { atMost: 0.85 }, against: "plain" }),
  ];
}

async function runTurn({ service, projects }: Bed<Side>, side: Side, count: number): Promise<Turn> {
  const expected = side === "noOp" ? 0 : count;
  await service.ask();
  await projects[side].declare(count);
  const upMs = await timeOf(() => projects[side].up());
  const afterUp = await service.ask();
  requireRegistered(side, afterUp.registered, expected);
  const destroyMs = await timeOf(() => projects[side].destroy());
  const afterDestroy = await service.ask();
  requireRegistered(side, afterDestroy.registered, 0);
  const calls = { ...afterUp.calls };
  for (const [action, number] of Object.entries(afterDestroy.calls))
    calls[action] = (calls[action] ?? 0) + number;
  return { upMs, destroyMs, calls };
}

function requireRegistered(side: Side, registered: number, expected: number): void {
  if (registered === expected) return;
  throw new Error(`${side}: ${registered} webhooks stand at the service, and should be ${expected}`);
}

/** The comparison is fair only while both do the same. */
function requireSameCalls(ours: readonly Turn[], plain: readonly Turn[]): void {
  for (const [index, { calls }] of ours.entries()) {
    const others = plain[index]?.calls ?? {};
    const differs = Object.keys({ ...calls, ...others }).find((action) => calls[action] !== others[action]);
    if (differs === undefined) continue;
    throw new Error(
      `${differs}: ours calls it ${calls[differs]} times, the plain way ${others[differs]} times`,
    );
  }
}

function timesOf(turns: Record<Side, Turn[]>, command: "upMs" | "destroyMs"): Record<Side, number[]> {
  const times = (side: Side): number[] => turns[side].map((turn) => turn[command]);
  return { ours: times("ours"), noOp: times("noOp"), plain: times("plain") };
}

const DESCRIPTIONS = { noOp: "a no-op dynamic resource", plain: "the same as a plain closure" } as const;

function compare(
  command: string,
  times: Record<Side, number[]>,
  given: { count: number; target: { atMost: number }; against: "noOp" | "plain" },
): Measurement {
  const { count, target, against } = given;
  const rounds = pairwise(times.ours, times[against], (ours, other) => ours / other);
  return {
    what: `pulumi ${command} of ${count} webhooks (time)`,
    against: DESCRIPTIONS[against],
    value: median(rounds),
    unit: "ratio",
    target,
    rounds,
    samples: { ours: times.ours, [against]: times[against] },
  };
}
