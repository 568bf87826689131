import { cp, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
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

/** Copies the example's `.github` to the top of a repository, and runs zizmor on it. Returns its exit code and output. */
async function audit(change: (plan: string) => string = (plan) => plan) {
  const folder = await mkdtemp(join(tmpdir(), "workflow-audit-"));
  afterTests(() => rm(folder, { recursive: true }));
  await cp(example, join(folder, ".github"), { recursive: true });
  const plan = join(folder, ".github/workflows/plan.yaml");
  await writeFile(plan, change(await readFile(plan, "utf8")));
  if (python === undefined) throw new Error("no Python");
  const bin = dirname(await preparePackages(python, requirements, signal));
  const { exitCode, all } = await execa(join(bin, "zizmor"), ["--offline", "--no-progress", folder], {
    all: true,
    reject: false,
  });
  return { exitCode, all };
}

describe.runIf(python)(
  `zizmor${python ? "" : `: NOT AUDITED, because there is no Python ${MIN_PYTHON} or newer with venv`}`,
  () => {
    it("finds nothing wrong with the example workflows", async () => {
      const { exitCode, all } = await audit();
      expect(exitCode, all).toBe(0);
      const audited = ["fleet", "plan", "up", "rotate", "watch"].map((name) => `workflows/${name}.yaml`);
      for (const file of audited) expect(all).toContain(file);
    });

    it("would find that a called workflow takes all secrets", async () => {
      const { exitCode, all } = await audit((plan) => plan.replace(/secrets:\n[^]*$/, "secrets: inherit\n"));
      expect(exitCode).not.toBe(0);
      expect(all).toContain("secrets-inherit");
    });
  },
);
