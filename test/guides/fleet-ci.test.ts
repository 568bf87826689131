import { chmod, cp, mkdir, readFile, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Emulator } from "pulumi-apichat/emulator";
import { beforeAll, describe, expect, test } from "vitest";
import { commandsIn, type Command } from "../support/command.ts";
import { SEED } from "../support/derived-keys.ts";
import { startFleetExample } from "../support/fleet-example.ts";
import { startServer } from "../support/http.ts";
import { startS3 } from "../support/s3.ts";
import { findSecrets } from "../support/secrets.ts";
import { createBackend, type Backend } from "../support/stack.ts";
import { fillIn, readWorkflow, runJob, type JobEnd, type Machine } from "../support/workflow.ts";

const API_KEY = "fleet-api-key";
const HOUR_MS = 3_600_000;
const STACKS = ["example-0-of-2", "example-1-of-2"];

const s3 = await startS3();

describe(`the example fleet on GitHub Actions, its state in ${s3 ? "S3" : "files: there is no Python for S3"}`, () => {
  let backend: Backend;
  let emulator: Emulator;
  /** The repository that each machine checks out. */
  let repository: string;
  let environment: Record<string, string>;
  /** The secrets of every environment. The repository itself has none. */
  let secrets: Record<string, string>;
  let names: string[];
  const printed: string[] = [];

  beforeAll(async () => {
    backend = await createBackend();
    ({ folder: repository, emulator, names } = await startFleetExample(backend));
    const endpoint = await startServer(({ body }, response) =>
      response.end(new URLSearchParams(body).get("hub_challenge") ?? ""),
    );
    // There is no responder on CI, so the list names an endpoint.
    await edit(
      "workspaces.yaml",
      (list) =>
        `webhookUrl: ${endpoint.url}/webhook\n${list.replaceAll("http://127.0.0.1:4000", emulator.url)}`,
    );
    // A machine for each of two shards; the workflow has four.
    await edit("definition.ts", (text) => text.replace("stacks: 3", "stacks: 2"));
    const bin = join(backend.folder, "bin");
    await mkdir(bin);
    // The packages are linked, and GitHub is not available.
    await standIn(bin, "npm", 'test "$*" = ci');
    await standIn(bin, "gh", 'echo "gh $*" >> "$GH_CALLS"');
    const { PULUMI_BACKEND_URL, PULUMI_CONFIG_PASSPHRASE, ...others } = { ...backend.environment, ...s3 };
    secrets = {
      // GitHub sets an empty string for a secret without a value.
      PULUMI_ACCESS_TOKEN: "",
      PULUMI_BACKEND_URL: PULUMI_BACKEND_URL ?? "",
      PULUMI_CONFIG_PASSPHRASE: PULUMI_CONFIG_PASSPHRASE ?? "",
      APICHAT_API_KEY: API_KEY,
      KEY_SEED: SEED,
    };
    environment = {
      ...others,
      PATH: `${bin}:${backend.environment["PATH"] ?? ""}`,
      GH_CALLS: join(backend.folder, "gh-calls"),
    };
  });

  const edit = async (file: string, change: (text: string) => string): Promise<void> => {
    const path = join(repository, file);
    await writeFile(path, change(await readFile(path, "utf8")));
  };

  let machines = 0;
  const startMachine = async (artifacts: string): Promise<Machine> => {
    machines += 1;
    const folder = join(backend.folder, "machines", String(machines));
    await cp(repository, folder, { recursive: true, filter: (path) => !path.endsWith("node_modules") });
    await symlink(
      fileURLToPath(new URL("../../node_modules", import.meta.url)),
      join(folder, "node_modules"),
    );
    return { folder, environment, artifacts };
  };

  const run = async (
    name: string,
    job: string,
    contexts: Record<string, unknown>,
    artifacts: string,
  ): Promise<JobEnd> => {
    const { env = {}, jobs } = await readWorkflow(name);
    const machine = await startMachine(artifacts);
    const github = {
      token: "t",
      repository: "your/repository",
      server_url: "https://github.example",
      run_id: 1,
    };
    const end = await runJob({ ...jobs[job], env }, { ...contexts, secrets, github }, machine);
    printed.push(end.printed, end.summary);
    return end;
  };

  /** Runs a job that calls fleet.yaml, with all its machines at once. Returns their exit codes and summaries. */
  const call = async (workflow: string, job: string, given: Record<string, string> = {}) => {
    const { jobs } = await readWorkflow(workflow);
    const { uses, with: values = {} } = jobs[job] ?? {};
    expect(uses).toBe("./.github/workflows/fleet.yaml");
    const filled = Object.entries(values).map(
      ([name, text]) => [name, fillIn(text, { inputs: given })] as const,
    );
    const two = { matrix: '{"shard":["1/2","2/2"]}' };
    const inputs = { ...(await defaultInputs()), ...two, ...Object.fromEntries(filled) };
    const { shard } = JSON.parse(inputs["matrix"] ?? "") as { shard: string[] };
    const ends = await Promise.all(
      shard.map((share) => run("fleet", "run", { inputs, matrix: { shard: share } }, "")),
    );
    return {
      exitCodes: ends.map(({ exitCode }) => exitCode),
      printed: ends.map((end) => end.printed).join("\n"),
      summary: ends.map((end) => end.summary).join("\n"),
    };
  };

  const start = (line: string, folder = repository): Command => {
    const [file = "", ...words] = line.split(" ");
    return commandsIn(folder, { ...environment, ...secrets })(file, ...words);
  };

  /** Runs a command that must succeed, and returns its stdout. */
  const finish = async (line: string): Promise<string> => {
    const { exitCode, stdout, output } = await start(line).done;
    printed.push(output);
    expect(exitCode, output).toBe(0);
    return stdout;
  };

  const registrationOf = (name: string) => emulator.workspace(name).registration;
  const registeredKeys = () =>
    new Set(names.map((name) => registrationOf(name)?.webhook_verification_key ?? ""));
  /** All keys that were ever registered. */
  let keys = new Set<string>();

  test("plan shows in each shard's summary what it would create, and registers nothing", async () => {
    const { exitCodes, summary } = await call("plan", "plan");
    expect(exitCodes).toEqual([0, 0]);
    const keysToCreate = [...summary.matchAll(/(\d+) keys? to create/g)].map(([, count]) => Number(count));
    expect(keysToCreate.reduce((sum, count) => sum + count, 0)).toBe(12);
    expect(names.filter(registrationOf)).toEqual([]);
  });

  test("up runs the shards at once, and a run of all stacks writes the index stack", async () => {
    const { exitCodes, summary, printed: output } = await call("up", "up");
    expect(exitCodes, output).toEqual([0, 0]);
    expect(summary).toContain("Fleet example, up: done");
    for (const stack of STACKS) expect(summary).toContain(stack);
    for (const name of names) expect(registrationOf(name)).toMatchObject({ webhook_status: "verified" });
    keys = registeredKeys();
    const index = await call("up", "index");
    expect(index.exitCodes, index.printed).toEqual([0]);
    expect(registeredKeys()).toEqual(keys);
    expect(JSON.parse(await finish("node fleet.ts bot-urls --json"))).toEqual(
      Object.fromEntries(names.map((name) => [name, emulator.workspace(name).botUrl])),
    );
  });

  test("a shard fails at another run's lock and names its owner, and succeeds after pulumi cancel", async () => {
    const [stack = ""] = STACKS;
    const placed = JSON.parse(await finish("node fleet.ts stacks --json")) as {
      stack: string;
      workspaces: string[];
    }[];
    const workspace = placed.find((one) => one.stack === stack)?.workspaces[0] ?? "";
    emulator.injectFault({ operation: "get-webhook", workspace, fault: { delayMs: HOUR_MS } });
    const isHeld = (): boolean =>
      emulator.requests.some(({ status, fault }) => status === undefined && fault !== "");
    const { folder } = await startMachine("");
    const other = start("node fleet.ts up --yes --skip-plan --refresh --shard 1/2", folder);
    await other.until(isHeld);

    const { jobs } = await readWorkflow("up");
    const inputs = { ...(await defaultInputs()), ...jobs["up"]?.with };
    const share = { inputs, matrix: { shard: "1/2" } };
    const locked = await run("fleet", "run", share, folder);
    expect(locked.exitCode).toBe(1);
    const [, cancelling = ""] =
      /another run works on this stack: .*created by \S+@\S+ \(pid \d+\).*: (pulumi cancel .*--stack \S+)/.exec(
        locked.printed,
      ) ?? [];
    expect(cancelling).toContain(stack);

    // As when a runner is lost.
    await other.killEverything();
    emulator.clearFaults();
    await finish(`${cancelling} --yes`);
    expect(await run("fleet", "run", share, folder)).toMatchObject({ exitCode: 0 });
  });

  test("rotate registers the next key of every workspace, in waves", async () => {
    await edit("definition.ts", (text) =>
      text.replace('rotations: ["2026-09"]', 'rotations: ["2026-12", "2026-09"]'),
    );
    const { jobs } = await readWorkflow("rotate");
    const waves = Object.keys(jobs);
    expect(waves.map((wave) => (jobs[wave] as { needs?: string }).needs)).toEqual([
      undefined,
      ...waves.slice(0, -1),
    ]);
    for (const wave of waves) {
      const { exitCodes } = await call("rotate", wave, { rotation: "2026-12" });
      expect(new Set(exitCodes)).toEqual(new Set([0]));
    }
    keys = new Set([...keys, ...registeredKeys()]);
    expect(keys.size).toBe(2 * names.length);
  });

  test("`write` creates the project of the same stack for pulumi, Deployments and the Operator", async () => {
    const [stack = ""] = STACKS;
    await finish(`node fleet.ts write --stack ${stack} --folder .`);
    const output = await finish(`pulumi preview --refresh --expect-no-changes --stack ${stack}`);
    // `--expect-no-changes` ignores changed outputs.
    expect(output).not.toContain("Outputs:");
  });

  test("watch opens an issue about drift", async () => {
    const artifacts = join(backend.folder, "artifacts", "watch");
    emulator.workspace("globex").removeRegistration();
    const { exitCode, summary } = await run("watch", "watch", {}, artifacts);
    expect(exitCode).toBe(0);
    expect(summary).toContain("globex");
    expect(await readFile(environment["GH_CALLS"] ?? "", "utf8")).toContain("gh issue create");
    expect(await readFile(join(artifacts, "drift", "drift.md"), "utf8")).toBe(summary);
  });

  test("no output contains a secret", () => {
    expect(printed.join("")).not.toBe("");
    expect(findSecrets(printed.join("\n"), [API_KEY, SEED, ...keys])).toEqual([]);
  });
});

/** The defaults of fleet.yaml for inputs that a call omits. */
async function defaultInputs(): Promise<Record<string, string>> {
  const { inputs } = (await readWorkflow("fleet")).on?.workflow_call ?? { inputs: {} };
  return Object.fromEntries(Object.entries(inputs).map(([name, { default: value = "" }]) => [name, value]));
}

/** Replaces a command with a shell script. */
async function standIn(folder: string, command: string, script: string): Promise<void> {
  await writeFile(join(folder, command), `#!/bin/sh\n${script}\n`);
  await chmod(join(folder, command), 0o755);
}
