import { describe, expect, test } from "vitest";
import { SEED } from "../../support/derived-keys.js";
import { clear, isolatePlugins, resourceOf, secret, secretsIn, UNKNOWN, type Marked } from "./harness.js";

const plugin = isolatePlugins();
const key = resourceOf("VerificationKey");

const { checked } = key;

interface Created {
  id: string;
  inputs: Marked;
  outs: Marked;
}

async function create(news: Marked): Promise<Created> {
  const inputs = await checked(news);
  return { inputs, ...(await key.create(inputs)) };
}

/** Returns the diff and the new state of an `up` with changed inputs. */
async function change({ id, inputs, outs }: Created, news: Marked) {
  const next = await checked(news, inputs);
  const difference = await key.diff(id, outs, next, { oldInputs: inputs });
  const preview = clear(await key.update(id, outs, next, { preview: true }));
  const updated = await key.update(id, outs, next);
  return { difference, preview, outs: updated, values: clear(updated) };
}

describe("random keys", () => {
  test("are created once, secret, and unknown in the preview", async () => {
    const inputs = await checked({});
    const preview = await key.create(inputs, { preview: true });
    expect(preview).toEqual({ id: "", outs: { current: secret(UNKNOWN), keys: secret(UNKNOWN) } });
    const { id, outs } = await key.create(inputs);
    expect(clear(outs)).toMatchObject({
      keep: 2,
      bytes: 32,
      stateVersion: 1,
      keys: [clear(outs)["current"]],
    });
    expect(clear(outs)).not.toHaveProperty("name");
    expect(secretsIn(outs)).toEqual(["current", "keys"]);
    expect(await key.read(id, outs, inputs)).toEqual({ id, outs, inputs });
    expect((await key.diff(id, outs, inputs)).changes).toBe(false);
    await key.delete(id, outs);
  });

  test("rotate in place, keep earlier keys, and are unknown in the preview", async () => {
    const created = await create({});
    const { difference, preview, values } = await change(created, { rotation: "2026-12", keep: 1 });
    expect(difference).toMatchObject({
      changes: true,
      replaces: [],
      detailed: { rotation: "ADD", keep: "ADD" },
    });
    expect(difference.diffs).toEqual(expect.arrayContaining(["rotation", "keep", "current", "keys"]));
    expect(preview).toEqual({ rotation: "2026-12", keep: 1, current: UNKNOWN, keys: UNKNOWN });
    expect(values["keys"]).toEqual([values["current"], clear(created.outs)["current"]]);
    expect(plugin.lines).toMatchObject([{ urn: key.urn, message: "a new key becomes the current one" }]);
  });
});

describe("derived keys", () => {
  const derived = { derivedFrom: secret(SEED), rotations: ["2026-12"] };

  test("are known in every preview, and do not show the seed", async () => {
    const created = await create(derived);
    const preview = await key.create(created.inputs, { preview: true });
    expect(clear(created.outs)).toMatchObject(clear(preview.outs));
    const rotated = await change(created, { ...derived, rotations: ["2027-03", "2026-12"] });
    expect(rotated.values).toMatchObject(rotated.preview);
    expect(rotated.values["keys"]).toEqual([rotated.values["current"], clear(created.outs)["current"]]);
    expect(rotated.difference.detailed).toEqual({ rotations: "UPDATE", current: "UPDATE", keys: "UPDATE" });
    expect(JSON.stringify([created, preview, rotated])).not.toContain(SEED);
  });
});
