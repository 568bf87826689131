import { rm } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { freePort } from "../support/http.js";
import {
  create,
  createAtFixedPort,
  deliver,
  destroy,
  diff,
  expectGone,
  failureOf,
  pidsOf,
  read,
  run,
  startRun,
  update,
  type Created,
} from "./responder-harness.js";

// Whose a process and a folder are, once a folder is gone or a resource has another name.

const removeFolder = ({ outs }: Created): Promise<void> => rm(outs.dataDir, { recursive: true });

describe("a process whose folder was removed", () => {
  test("is ended by delete, with a warning", async () => {
    const created = await createAtFixedPort();
    await removeFolder(created);
    await destroy(created);
    expect(await pidsOf()).toEqual([]);
    expect(run.lines).toEqual([
      `chat: warning: the folder ${created.outs.dataDir} was removed while the responder ran; what was not forwarded is lost`,
    ]);
    await expectGone(created.outs.dataDir);
  });

  test("is found by a refresh, and replaced by the update that follows, on its fixed port", async () => {
    const port = await freePort();
    const created = await create({ port });
    await removeFolder(created);
    const outs = await read(created);
    expect(outs).toEqual({ ...created.outs, isLost: true });
    expect(run.lines).toEqual([
      expect.stringMatching(/^chat: warning: .* its folder .* was removed; pulumi up/),
    ]);
    expect(await pidsOf()).toEqual([created.outs.pid]);
    const refreshed = { ...created, outs: outs ?? created.outs };
    expect(await diff(refreshed, { port })).toBe(true);
    const updated = await update(refreshed, { port });
    expect(await pidsOf()).toEqual([updated.outs.pid]);
    expect(updated.outs).not.toHaveProperty("isLost");
    expect(updated.outs.port).toBe(port);
    expect(await deliver(updated)).toBe(200);
    expect(await read(updated)).toEqual(updated.outs);
    expect(run.lines.at(-1)).toMatch(/^chat: the responder had lost its folder; started again, pid \d+$/);
  });

  test("is not left behind by an update without a refresh, nor by a move to another folder", async () => {
    const created = await createAtFixedPort();
    await removeFolder(created);
    const updated = await update(created, { publicUrl: "https://tunnel.example" });
    expect(await pidsOf()).toEqual([updated.outs.pid]);
    await removeFolder(updated);
    const moved = await update(updated, { dataDir: join(run.folder, "moved") });
    expect(await pidsOf()).toEqual([moved.outs.pid]);
    expect(moved.outs.port).toBe(created.outs.port);
  });

  test("leaves the folder to a responder that another run has started there", async () => {
    const created = await createAtFixedPort();
    await removeFolder(created);
    const second = await create();
    await destroy(created);
    expect(await pidsOf()).toEqual([second.outs.pid]);
    expect(await read(second)).toEqual(second.outs);
    expect(run.lines.at(-1)).toMatch(
      /warning: another responder runs on .* now \(pid \d+\); it keeps running$/,
    );
  });
});

describe("a responder under a new name without an alias", () => {
  const RENAMED = { name: "renamed", instanceKey: "project/dev/renamed" };

  test("that has its own folder keeps process and folder when the former one is deleted", async () => {
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
    expect(await pidsOf()).toEqual([]);
  });

  test("at a fixed port is told which resource has the port, and how to give it the alias", async () => {
    const port = await freePort();
    const created = await create({ port });
    startRun();
    const error = await failureOf(create({ ...RENAMED, port }));
    expect(error).toMatchObject({ code: "conflict", problems: [{ field: "port" }] });
    expect(error.message).toContain(
      `port: ${port} is taken by the responder "chat" of this stack; if "renamed" is its new name, give it the alias "chat"`,
    );
    expect(await read(created)).toEqual(created.outs);
  });
});
