import { cp } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { execa } from "execa";
import { describe, expect, it } from "vitest";
import { findPython, MIN_PYTHON, preparePackages } from "../../tools/lib/python.ts";
import { makeFolder } from "../support/folder.ts";

const WORKFLOWS = {
  "of the repository": { from: "../../.github", names: ["check", "nightly", "pages", "portable", "release"] },
  "of the example": {
    from: "../../examples/fleet/.github",
    names: ["fleet", "plan", "up", "rotate", "watch"],
  },
};
const requirements = new URL("../support/zizmor-requirements.txt", import.meta.url);
const { signal } = new AbortController();

const python = await findPython(signal);

describe.runIf(python)(
  `zizmor${python ? "" : `: NOT AUDITED, because there is no Python ${MIN_PYTHON} or newer with venv`}`,
  () => {
    it.each(Object.entries(WORKFLOWS))(
      "finds nothing wrong with the workflows %s",
      async (_, { from, names }) => {
        const folder = await makeFolder();
        const source = fileURLToPath(new URL(from, import.meta.url));
        await cp(source, join(folder, ".github"), { recursive: true });
        if (python === undefined) throw new Error("no Python");
        const bin = dirname(await preparePackages(python, requirements, signal));
        const words = ["--offline", "--no-progress", folder];
        const { exitCode, all } = await execa(join(bin, "zizmor"), words, { all: true, reject: false });
        expect(exitCode, all).toBe(0);
        for (const name of names) expect(all).toContain(`workflows/${name}.yaml`);
      },
    );
  },
);
