import { cp, readFile, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Emulator } from "pulumi-apichat/emulator";
import { beforeAll, describe, expect, test } from "vitest";
import { stackOf } from "../../dist/provider/fleet/placement.js";
import { commandsIn, type Command } from "../support/command.ts";
import { SEED } from "../support/derived-keys.ts";
import { startFleetExample } from "../support/fleet-example.ts";
import { startServer } from "../support/http.ts";
import { startS3 } from "../support/s3.ts";
import { findSecrets } from "../support/secrets.ts";
import { createBackend, type Backend } from "../support/stack.ts";
import { fillIn, readWorkflow, runStep } from "../support/workflow.ts";

const API_KEY = "fleet-api-key";
const HOUR_MS = 3_600_000;
const STACKS = ["example-0-of-2", "example-1-of-2"];

const s3 = await startS3();

describe(`the example fleet on GitHub Actions, with its state in ${s3 ? "S3" : "files (no Python for S3)"}`, () => {
  let backend: Backend;
  let emulator: Emulator;
  /** The repository that each machine checks out. */
  let repository: string;
  let environment: Record<string, string>;
  /** The secrets of every GitHub environment. The repository itself has no secrets. */
  let secrets: Record<string, string>;
  let names: string[];
  const printed: string[] = [];

  beforeAll(async () => {
    backend = await createBackend();
    ({ folder: repository, emulator, names } = await startFleetExample(backend));
    const endpoint = await startServer(({ body }, response) =>
      response.end(new URLSearchParams(body).get("hub_challenge") ?? ""),
    );
    // The example's own responder does not run on CI, so the list of workspaces contains the URL of an endpoint.
    await edit(
      "workspaces.yaml",
      (list) =>
        `webhookUrl: ${endpoint.url}/webhook\n${list.replaceAll("http://127.0.0.1:4000", emulator.url)}`,
    );
    // This test runs two shards, with one stack each. The workflow itself has four shards.
    await edit("definition.ts", (text) => text.replace("stacks: 3", "stacks: 2"));
    const { PULUMI_BACKEND_URL, PULUMI_CONFIG_PASSPHRASE, ...others } = { ...backend.environment, ...s3 };
    secrets = {
      // If a secret is not set, GitHub passes an empty string.
      PULUMI_ACCESS_TOKEN: "",
      PULUMI_BACKEND_URL: PULUMI_BACKEND_URL ?? "",
      PULUMI_CONFIG_PASSPHRASE: PULUMI_CONFIG_PASSPHRASE ?? "",
      APICHAT_API_KEY: API_KEY,
      KEY_SEED: SEED,
    };
    environment = { ...others, PATH: backend.environment["PATH"] ?? "" };
  });

  const edit = async (file: string, change: (text: string) => string): Promise<void> => {
    const path = join(repository, file);
    await writeFile(path, change(await readFile(path, "utf8")));
  };

  let machines = 0;
  /** Returns the folder of a new machine that has checked out the repository. */
  const startMachine = async (): Promise<string> => {
    machines += 1;
    const folder = join(backend.folder, "machines", String(machines));
    await cp(repository, folder, { recursive: true, filter: (path) => !path.endsWith("node_modules") });
    const packages = fileURLToPath(new URL("../../node_modules", import.meta.url));
    await symlink(packages, join(folder, "node_modules"));
    return folder;
  };

  /** Runs a job that calls the workflow fleet.yaml: all shards at once, each on its own machine. */
  const call = async (workflow: string, job: string, rotation = "", shards = ["1/2", "2/2"]) => {
    const { jobs } = await readWorkflow(workflow);
    expect(jobs[job]?.uses).toBe("./.github/workflows/fleet.yaml");
    const { matrix, ...inputs } = fillIn(jobs[job]?.with ?? {}, { "inputs.rotation": rotation });
    const { shard: own = shards } = JSON.parse(matrix ?? "{}") as { shard?: string[] };
    const { steps = [] } = (await readWorkflow("fleet")).jobs["run"] ?? {};
    const step = steps.find(({ name }) => name === "Run the shard");
    const given = { "inputs.rotation": "", ...prefix("inputs", inputs), ...prefix("secrets", secrets) };
    const ends = own.map(async (shard) => {
      const filled = fillIn(step?.env ?? {}, { ...given, "matrix.shard": shard });
      return runStep(step?.run ?? "", await startMachine(), { ...environment, ...filled });
    });
    const ended = await Promise.all(ends);
    for (const end of ended) printed.push(end.printed, end.summary);
    return {
      exitCodes: ended.map(({ exitCode }) => exitCode),
      printed: ended.map((end) => end.printed).join("\n"),
      summary: ended.map((end) => end.summary).join("\n"),
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

  test("plan registers nothing, and each shard's summary shows what would be created", async () => {
    const { exitCodes, summary } = await call("plan", "plan");
    expect(exitCodes).toEqual([0, 0]);
    const keysToCreate = [...summary.matchAll(/(\d+) keys? to create/g)].map(([, count]) => Number(count));
    expect(keysToCreate.reduce((sum, count) => sum + count, 0)).toBe(12);
    expect(names.filter(registrationOf)).toEqual([]);
  });

  test("up runs all shards at the same time, and then a run of all stacks writes the index stack", async () => {
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

  test("a shard fails if its stack is locked, naming the lock's owner; after pulumi cancel, it succeeds", async () => {
    const [stack = ""] = STACKS;
    const workspace = names.find((name) => stackOf(name, STACKS.length) === 0) ?? "";
    emulator.injectFault({ operation: "get-webhook", workspace, fault: { delayMs: HOUR_MS } });
    const isHeld = (): boolean =>
      emulator.requests.some(({ response, fault }) => response === null && fault !== "");
    const other = start("node fleet.ts up --yes --skip-plan --refresh --shard 1/2", await startMachine());
    await other.until(isHeld);

    const locked = await call("up", "up", "", ["1/2"]);
    expect(locked.exitCodes).toEqual([1]);
    const [, cancelling = ""] =
      /another run is using this stack: .*created by \S+@\S+ \(pid \d+\).*: (pulumi cancel .*--stack \S+)/.exec(
        locked.printed,
      ) ?? [];
    expect(cancelling).toContain(stack);

    // Kills the run that holds the lock, as if its machine were lost.
    await other.killEverything();
    emulator.clearFaults();
    await finish(`${cancelling} --yes`);
    expect((await call("up", "up", "", ["1/2"])).exitCodes).toEqual([0]);
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
      const { exitCodes } = await call("rotate", wave, "2026-12");
      expect(new Set(exitCodes)).toEqual(new Set([0]));
    }
    keys = new Set([...keys, ...registeredKeys()]);
    expect(keys.size).toBe(2 * names.length);
  });

  test("`write` creates a project in which pulumi, Deployments and the Operator use the same stack", async () => {
    const [stack = ""] = STACKS;
    await finish(`node fleet.ts write --stack ${stack} --folder .`);
    const output = await finish(`pulumi preview --refresh --expect-no-changes --stack ${stack}`);
    // `--expect-no-changes` ignores changed outputs.
    expect(output).not.toContain("Outputs:");
  });

  test("no output contains a secret", () => {
    expect(printed.join("")).not.toBe("");
    expect(findSecrets(printed.join("\n"), [API_KEY, SEED, ...keys])).toEqual([]);
  });
});

const prefix = (context: string, values: Record<string, string>): Record<string, string> =>
  Object.fromEntries(Object.entries(values).map(([name, value]) => [`${context}.${name}`, value]));
