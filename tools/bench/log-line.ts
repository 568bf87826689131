import { randomBytes } from "node:crypto";
import { createRedactor } from "../../dist/provider/lib/redact.js";
import { createLog } from "../../dist/provider/server/log.js";
import type { Measurement, Row, RowContext } from "./measurement.ts";
import { alternate, median, pairwise, timeOf } from "./statistics.ts";

const KEYS = 2_000;
const LINES = 2_000;
const ROUNDS = 101;
const WARM_UP_ROUNDS = 20;

/** As a target may answer; where the log shows it, the keys are taken out. */
const FIELDS = {
  workspace: "workspace-0001",
  id: "1d0ad9b8-5a4e-4c73-9d1b-6f5f9a3c2f11",
  error: "connect ECONNREFUSED 127.0.0.1:3000, after 1 attempt to reach the target of the workspace",
};

/** What the redaction of many keys adds to a line of the responder's log. */
export const logLineRow: Row = {
  name: "log-line",
  title: `A line of the responder's log with ${KEYS} keys: a few seconds`,
  measure: measureLogLine,
};

const repeat = (work: () => void) => (): Promise<number> =>
  timeOf(() => {
    for (let line = 0; line < LINES; line += 1) work();
  });

async function measureLogLine({ signal, update }: RowContext): Promise<Measurement[]> {
  let written = 0;
  const keys = Array.from({ length: KEYS }, () => randomBytes(32).toString("base64url"));
  const log = createLog((line) => (written += line.length), createRedactor(keys));
  const sides = {
    ours: repeat(() => log.warn("not forwarded", FIELDS)),
    bare: repeat(() => {
      const line = { time: new Date().toISOString(), level: "warn", event: "not forwarded", ...FIELDS };
      written += JSON.stringify(line).length;
    }),
  };
  await alternate(sides, { rounds: WARM_UP_ROUNDS, signal });
  const samples = await alternate(sides, {
    rounds: ROUNDS,
    signal,
    onTurn: (_side, round) => update(`round ${round} of ${ROUNDS}`),
  });
  if (written === 0) throw new Error("nothing was written");
  const rounds = pairwise(samples.ours, samples.bare, (ours, bare) => ours / bare);
  return [
    {
      what: `a log line, redacted for ${KEYS} keys (time)`,
      against: "JSON.stringify of it",
      value: median(rounds),
      unit: "ratio",
      target: { atMost: 20 },
      rounds,
      samples,
    },
  ];
}
