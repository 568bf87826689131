import { rm } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import {
  create,
  createAtFixedPort,
  deliver,
  destroy,
  expectGone,
  expectPids,
  read,
  run,
  startRun,
  update,
  type Created,
} from "./responder-harness.js";

// Tests who owns a process and a folder after a removed folder or a rename.

const removeFolder = ({ outs }: Created): Promise<void> => rm(outs.dataDir, { recursive: true });

describe("a process whose folder was removed", () => {
  test("ends: refresh finds it gone, update restarts it on its port, and delete does nothing", async () => {
    const created = await createAtFixedPort();
    await removeFolder(created);
    await expectPids([]);
    expect(await read(created)).toBeUndefined();
    const updated = await update(created, { publicUrl: "https://tunnel.example" });
    expect(updated.outs.port).toBe(created.outs.port);
    expect(await deliver(updated)).toBe(200);
    expect(run.lines).toEqual([
      expect.stringMatching(/^chat: the responder had ended; started again, pid \d+$/),
    ]);
    await removeFolder(updated);
    await expectPids([]);
    await destroy(updated);
    await expectGone(updated.outs.dataDir);
  });

  test("ends even if another one has started there, which stays", async () => {
    const created = await createAtFixedPort();
    await removeFolder(created);
    const second = await create();
    await expectPids([second.outs.pid]);
    await destroy(created);
    expect(await read(second)).toEqual(second.outs);
    expect(run.lines.at(-1)).toMatch(
      /warning: another responder runs on .* now \(pid \d+\); it keeps running$/,
    );
  });
});

describe("a responder under a new name without an alias", () => {
  const RENAMED = { name: "renamed", instanceKey: "project/dev/renamed" };

  test("keeps its own process and folder when the previous resource is deleted", async () => {
    const dataDir = join(run.folder, "own");
    const created = await createAtFixedPort({ dataDir });
    startRun();
    const renamed = await create({ ...RENAMED, dataDir });
    expect(renamed.outs.pid).toBe(created.outs.pid);
    startRun();
    await destroy(created);
    expect(run.lines.at(-1)).toMatch(
      /^chat: the responder stays: .* belongs to project\/dev-\w+\/renamed now$/,
    );
    expect(await read(renamed)).toEqual(renamed.outs);
    expect(await deliver(renamed)).toBe(200);
    await destroy(renamed);
    await expectPids([]);
  });
});
