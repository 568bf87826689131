/** Accepts deliveries into the spool of its first argument until it is killed; writes to stdout what has happened. */
import { randomUUID } from "node:crypto";
import { writeSync } from "node:fs";
import { openSpool } from "../../../provider/server/spool/spool.ts";

const [, , path = "", round = ""] = process.argv;
const CALLERS = 20;
const spool = openSpool(path, { tidyAfterMs: 20 });

/** At once and whole: a buffer would be lost in the kill. */
const tell = (event: string, id: string): void => void writeSync(1, `${event} ${id}\n`);

async function acceptOn(caller: number): Promise<never> {
  const conversation = `${round}-${caller}`;
  for (let number = 0; ; number++) {
    const id = randomUUID();
    // Now and then a large one, so that a commit takes longer.
    const body = Buffer.alloc(number % 100 === 99 ? 500_000 : 1 + ((number * 37) % 9_000), id);
    await spool.accept({ id, workspace: "acme", conversation, headers: [["x-id", id]], body });
    tell("accepted", id);
    if (number % 3 === 0) await completeOne();
  }
}

async function completeOne(): Promise<void> {
  const [head] = spool.queue.dueHeads("acme", Date.now(), 1);
  const delivery = head && spool.queue.read(head.position);
  if (delivery === undefined) return;
  tell("completing", delivery.id);
  await spool.queue.complete(delivery);
  tell("completed", delivery.id);
}

await Promise.all(Array.from({ length: CALLERS }, (_, caller) => acceptOn(caller)));
