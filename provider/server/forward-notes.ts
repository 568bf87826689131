import { limitRate, type Log, type LogFields } from "./log.js";
import type { KeptDelivery } from "./spool-rows.js";

/** What the forwarder says in the log: of what repeats, one line in a while. */
export interface ForwardNotes {
  notForwarded(delivery: KeptDelivery, failure: string): void;
  deadLetter(delivery: KeptDelivery, failure: string): void;
  spoolFailed(error: unknown): void;
}

export function createForwardNotes(log: Log): ForwardNotes {
  const warn = limitRate((fields) => log.warn("not forwarded", fields));
  const bury = limitRate((fields) => log.error("dead letter", fields));
  const fail = limitRate((fields) => log.error("spool failed", fields));
  return {
    notForwarded: (delivery, failure) =>
      warn(`${delivery.workspace} ${failure}`, describe(delivery, failure)),
    deadLetter: (delivery, failure) => bury(`${delivery.workspace} ${failure}`, describe(delivery, failure)),
    spoolFailed: (error) => {
      const message = error instanceof Error ? error.message : String(error);
      fail(message, { error: message });
    },
  };
}

const describe = ({ workspace, id, attempts }: KeptDelivery, failure: string): LogFields => ({
  workspace,
  id,
  failure,
  attempts: attempts + 1,
});
