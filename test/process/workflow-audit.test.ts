import { cp, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { execa } from "execa";
import { describe, expect, it } from "vitest";
import { findPython, MIN_PYTHON, preparePackages } from "../../tools/openapi/environment.ts";
import { afterTests } from "../support/http.ts";

const example = fileURLToPath(new URL("../../examples/fleet/.github", import.meta.url));
const requirements = new URL("../support/zizmor-requirements.txt", import.meta.url);
const { signal } = new AbortController();

const python = await findPython(signal);

describe.runIf(python)(
  `zizmor${python ? "" : `: NOT AUDITED, because there is no Python ${MIN_PYTHON} or newer with venv`}`,
  () => {
    it("finds nothing wrong with the example workflows, at the top of a repository", async () => {
      const folder = await mkdtemp(join(tmpdir(), "workflow-audit-"));
      afterTests(() => rm(folder, { recursive: true }));
      await cp(example, join(folder, ".github"), { recursive: true });
      if (python === undefined) throw new Error("no Python");
      const bin = dirname(await preparePackages(python, requirements, signal));
      const words = ["--offline", "--no-progress", folder];
      const { exitCode, all } = await execa(join(bin, "zizmor"), words, { all: true, reject: false });
      expect(exitCode, all).toBe(0);
      const audited = ["fleet", "plan", "up", "rotate", "watch"].map((name) => `workflows/${name}.yaml`);
      for (const file of audited) expect(all).toContain(file);
    });
  },
);
