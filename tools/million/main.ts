/**
 * `npm run suite million`: a responder accepts and forwards deliveries, a million or as many as the first argument
 * says. A second argument is the interval, in seconds, at which it is killed. Exit code 1 if a limit is exceeded.
 */
import process from "node:process";
import { abortOnSignals, runTool } from "../lib/run.ts";
import { flood } from "./flood.ts";

await runTool(async () => {
  const count = Number(process.argv[2] ?? 1_000_000);
  const killEveryMs = process.argv[3] === undefined ? undefined : Number(process.argv[3]) * 1000;
  const found = await flood(count, { forwards: true, signal: abortOnSignals(), killEveryMs });
  console.log(found);
  const broken = Object.entries({
    "deliveries were lost": found.lost > 0,
    "deliveries were out of order in their conversation": found.early > 0,
    "deliveries were repeated without a failure": found.repeated > 0 && found.kills === 0,
    "more than 400 MiB of memory": found.memoryMib > 400,
    "files of more than 256 MiB: the space of deleted rows is not reused": found.fileMib > 256,
    "the forwarding rate was below 0.8 of the accepting rate":
      found.kills === 0 && found.forwarded < 0.8 * found.accepted,
  }).flatMap(([what, is]) => (is ? [what] : []));
  for (const what of broken) console.error(what);
  return broken.length === 0 ? 0 : 1;
});
