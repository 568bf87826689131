import { existsSync } from "node:fs";
import { say } from "../resource/progress.js";
import { tidyDataDir } from "./data-dir.js";
import type { ProcessState } from "./inputs.js";
import { belongsTo } from "./owner.js";
import { countUndelivered } from "./undelivered.js";

/**
 * Leaves a folder whose process has ended: its files are removed, the keys among them, but not deliveries that were
 * acknowledged and not forwarded. Those stay, with a warning that counts them. So does a folder that is another's.
 */
export async function leaveDataDir(state: ProcessState): Promise<void> {
  const { name, dataDir } = state;
  if (!belongsTo(dataDir, [state])) {
    if (existsSync(dataDir)) say(name, `warning: ${dataDir} belongs to another responder and is unchanged`);
    return;
  }
  const count = await countUndelivered(dataDir);
  if (count !== 0) say(name, describeUndelivered(dataDir, count));
  await tidyDataDir(dataDir, { keepSpool: count !== 0 });
}

function describeUndelivered(dataDir: string, count: number | undefined): string {
  const what =
    count === undefined
      ? "deliveries may not have been forwarded and stay"
      : count === 1
        ? "1 delivery was not forwarded and stays"
        : `${count} deliveries were not forwarded and stay`;
  return (
    `warning: ${what} in ${dataDir}. To see them: npx apichat responder deliveries --data-dir ${dataDir}, or dead-letters. ` +
    "A responder of this dataDir forwards what waits; remove the folder if they may go"
  );
}
