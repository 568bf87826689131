import { rm } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { startReceiver } from "../support/receiver.ts";
import { deliverTo } from "../support/responder.ts";
import { fillVolume, freeBytesOf, mountVolume, type VolumeKind } from "../support/volume.ts";
import { countsOf, KEY, makeHome, run, startResponder } from "./program.ts";

const MiB = 1024 * 1024;
/** A long timeout, because the disk of a busy machine can be slow. */
const WAIT = { timeout: 60_000 };
const TEXT = "x".repeat(192 * 1024);

const readinessOf = async (origin: string): Promise<number> => (await fetch(`${origin}/readyz`)).status;

/** Sends a large delivery in this conversation, and returns the status of the response. */
const deliver = (origin: string, conversation: number): Promise<number> =>
  deliverTo(`${origin}/acme`, KEY, { conv_id: conversation, text: TEXT });

/** Delivers until a delivery is rejected, and returns how many were acknowledged. */
async function deliverUntilFull(origin: string, first = 0): Promise<number> {
  for (let conversation = first; ; conversation++) {
    const status = await deliver(origin, conversation);
    if (status === 200) continue;
    expect(status).toBe(503);
    return conversation;
  }
}

/** Starts a responder on its own volume, while its target is down. */
async function startOnVolume(kind: VolumeKind, megabytes: number) {
  const volume = await mountVolume(kind, megabytes);
  const receiver = await startReceiver();
  receiver.answerWith(503);
  const dataDir = join(volume, "data");
  const config = { dataDir, workspaces: { acme: { verificationKeys: KEY, forwardTo: receiver.url } } };
  const home = { ...(await makeHome(config)), dataDir, config };
  const responder = await startResponder(home);
  return { volume, receiver, home, responder };
}

test("a spool on a full volume keeps a reserve; when the target is back, it drains and accepts again", async () => {
  const megabytes = 64;
  const { volume, receiver, home, responder } = await startOnVolume("ext4", megabytes);
  const { origin } = responder;
  let acknowledged = await deliverUntilFull(origin);
  // Later, SQLite moves its log into the database file, which frees a little space to fill.
  const fillAgain = async (): Promise<number> => {
    acknowledged = await deliverUntilFull(origin, acknowledged);
    return readinessOf(origin);
  };
  await expect.poll(fillAgain, WAIT).toBe(503);
  expect(acknowledged).toBeGreaterThan(megabytes);
  expect(await freeBytesOf(volume)).toBeGreaterThan(2 * MiB);
  receiver.answerWith(200);
  await run("responder", "retry", "--config", home.configFile);
  await expect.poll(() => countsOf(home).pending, WAIT).toBe(0);
  expect(new Set(receiver.received.map(({ id }) => id)).size).toBe(acknowledged);
  await expect.poll(() => readinessOf(origin), WAIT).toBe(200);
  expect(await deliver(origin, 0)).toBe(200);
});

test("a responder started on a full volume responds with 503 and forwards kept deliveries", async () => {
  const { volume, receiver, home, responder } = await startOnVolume("tmpfs", 32);
  const acknowledged = await deliverUntilFull(responder.origin);
  responder.child.kill("SIGKILL");
  await responder.ended;
  const filler = await fillVolume(volume);
  expect(await freeBytesOf(volume)).toBe(0);
  const { origin } = await startResponder(home);
  expect([await deliver(origin, 0), await readinessOf(origin)]).toEqual([503, 503]);
  // /healthz still reports 200: a failure would cause a restart, which would not free space.
  expect((await fetch(`${origin}/healthz`)).status).toBe(200);
  receiver.answerWith(200);
  await run("responder", "retry", "--config", home.configFile);
  await expect.poll(() => countsOf(home).pending, WAIT).toBe(0);
  expect(new Set(receiver.received.map(({ id }) => id)).size).toBe(acknowledged);
  await rm(filler);
  await expect.poll(() => readinessOf(origin), WAIT).toBe(200);
});
