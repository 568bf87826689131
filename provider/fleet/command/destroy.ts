import { EXIT, note } from "../../cli/output.js";
import { renderReport } from "../render/report.js";
import { count } from "../render/wording.js";
import { deliver } from "./deliver.js";
import { limitsOf, type DestroyCommandOptions } from "./options.js";
import { ask } from "./question.js";
import type { Session } from "./run-on-fleet.js";

/** Removes the fleet, after somebody has typed how many webhooks go. Gives the exit code. */
export async function destroyOnFleet(session: Session, options: DestroyCommandOptions): Promise<number> {
  if (!options.yes && !(await isConfirmed(session))) {
    note("nothing was removed");
    return EXIT.failed;
  }
  const report = await session.run((run) => session.fleet.destroy({ ...run, ...limitsOf(options) }));
  await deliver(report, renderReport, { options, session });
  return report.outcome === "done" ? EXIT.done : EXIT.failed;
}

async function isConfirmed(session: Session): Promise<boolean> {
  const webhooks = await countWebhooks(session);
  const stacks = count(session.fleet.stacks.length, "stack");
  const question = `Remove ${count(webhooks, "webhook")} of ${stacks}? Type ${webhooks} to go on: `;
  return (await ask(question, session.signal)).trim() === String(webhooks);
}

/** Those of the index stack; before it is written, as many as there can be. */
async function countWebhooks({ fleet }: Session): Promise<number> {
  const known = Object.keys(await fleet.botUrls()).length;
  return known > 0 ? known : fleet.workspaces.length;
}
