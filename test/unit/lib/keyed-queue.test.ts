import { expect, test } from "vitest";
import { KeyedQueue } from "../../../provider/lib/keyed-queue.js";

test("runs the tasks of a key in their order, and keys side by side", async () => {
  const queue = new KeyedQueue();
  const events: string[] = [];
  const first = Promise.withResolvers<void>();
  const run = (key: string, name: string, until: Promise<unknown> = Promise.resolve()): Promise<string> =>
    queue.run(key, async () => {
      events.push(`${name} begins`);
      await until;
      events.push(`${name} ends`);
      return name;
    });
  const slow = run("a", "a1", first.promise);
  const behind = run("a", "a2");
  expect(await run("b", "b1")).toBe("b1");
  expect(events).toEqual(["a1 begins", "b1 begins", "b1 ends"]);
  first.resolve();
  expect(await Promise.all([slow, behind])).toEqual(["a1", "a2"]);
  expect(events.slice(3)).toEqual(["a1 ends", "a2 begins", "a2 ends"]);
});

test("continues behind a task that fails, and is idle when nothing is left", async () => {
  const queue = new KeyedQueue<number>();
  const added: Promise<unknown>[] = [];
  const failed = queue.run(1, () => {
    throw new Error("thrown");
  });
  const next = queue.run(1, () => void added.push(queue.run(2, () => "added meanwhile")));
  await expect(failed).rejects.toThrow("thrown");
  await queue.idle();
  await next;
  expect(await Promise.all(added)).toEqual(["added meanwhile"]);
});
