import { expect, test } from "vitest";
import { KeyedQueue } from "../../../provider/lib/keyed-queue.js";

test("a queue continues after a failed task, and becomes idle", async () => {
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
