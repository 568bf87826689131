import { expect, test } from "vitest";
import { SEED } from "../../support/derived-keys.js";
import { clear, isolatePlugins, resourceOf, secret, secretsIn, UNKNOWN, type Marked } from "./harness.js";

const plugin = isolatePlugins();
const key = resourceOf("VerificationKey");
const { checked } = key;

async function create(news: Marked) {
  const inputs = await checked(news);
  const preview = clear((await key.create(inputs, { preview: true })).outs);
  return { inputs, preview, ...(await key.create(inputs)) };
}

/** Returns the diff and the new state of an `up` with changed inputs. */
async function change({ id, inputs, outs }: Awaited<ReturnType<typeof create>>, news: Marked) {
  const next = await checked(news, inputs);
  const difference = await key.diff(id, outs, next, { oldInputs: inputs });
  const preview = clear(await key.update(id, outs, next, { preview: true }));
  const updated = await key.update(id, outs, next);
  return { difference, preview, outs: updated, values: clear(updated) };
}

test("a random key is secret, unknown in a preview, and rotates in place", async () => {
  const created = await create({});
  const { id, inputs, outs } = created;
  expect(created.preview).toEqual({ current: UNKNOWN, keys: UNKNOWN });
  const { current } = clear(outs);
  expect(clear(outs)).toEqual({ keep: 2, bytes: 32, stateVersion: 1, current, keys: [current] });
  expect(secretsIn(outs)).toEqual(["current", "keys"]);
  expect(await key.read(id, outs, inputs)).toEqual({ id, outs, inputs });
  expect((await key.diff(id, outs, inputs)).changes).toBe(false);

  const { difference, preview, values } = await change(created, { rotation: "2026-12", keep: 1 });
  const detailed = { rotation: "ADD", keep: "ADD" };
  expect(difference).toMatchObject({ changes: true, replaces: [], detailed });
  expect(difference.diffs).toEqual(expect.arrayContaining(["rotation", "keep", "current", "keys"]));
  expect(preview).toEqual({ rotation: "2026-12", keep: 1, current: UNKNOWN, keys: UNKNOWN });
  expect(values["keys"]).toEqual([values["current"], current]);
  expect(plugin.lines).toMatchObject([{ urn: key.urn, message: "a new key becomes the current one" }]);
  await key.delete(id, outs);
});

test("derived keys are known in every preview, and do not show the seed", async () => {
  const derived = { derivedFrom: secret(SEED), rotations: ["2026-12"] };
  const created = await create(derived);
  expect(clear(created.outs)).toMatchObject(created.preview);
  const rotated = await change(created, { ...derived, rotations: ["2027-03", "2026-12"] });
  expect(rotated.values).toMatchObject(rotated.preview);
  expect(rotated.values["keys"]).toEqual([rotated.values["current"], clear(created.outs)["current"]]);
  expect(rotated.difference.detailed).toEqual({ rotations: "UPDATE", current: "UPDATE", keys: "UPDATE" });
  expect(JSON.stringify([created, rotated])).not.toContain(SEED);
});
