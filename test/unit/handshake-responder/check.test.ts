import { mkdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test, vi } from "vitest";
import type { ProcessInputs } from "../../../provider/handshake-responder/inputs.js";
import { ResponderLifecycle } from "../../../provider/handshake-responder/lifecycle.js";
import type { CheckResult } from "../../../provider/pulumi/check-and-diff.js";
import { UNKNOWN } from "../../../provider/pulumi/unknown.js";
import { DERIVED, SEED } from "../../support/derived-keys.js";
import { acme, argsOf, isolateRuns, KEY, OTHER_KEY, type Values } from "../../support/responder-runs.js";

const run = isolateRuns();

const check = (more: Values = {}, olds: Partial<ProcessInputs> = {}): Promise<CheckResult<ProcessInputs>> =>
  new ResponderLifecycle().check(olds, argsOf(more));

/** Returns the inputs as check returns them. Throws if check rejects them. */
async function checked(more: Values = {}, olds: Partial<ProcessInputs> = {}): Promise<ProcessInputs> {
  const { inputs, failures } = await check(more, olds);
  expect(failures).toEqual([]);
  return inputs;
}

/** Returns the only failure of otherwise valid inputs. */
async function failureWith(more: Values): Promise<{ property: string; reason: string }> {
  const [failure = { property: "", reason: "" }, ...others] = (await check(more)).failures;
  expect(others).toEqual([]);
  return failure;
}

test("valid inputs get a default host and folder", async () => {
  const { inputs, failures } = await check({ __provider: "source" });
  expect(failures).toEqual([]);
  expect(inputs).toEqual({
    ...argsOf(),
    __provider: "source",
    host: "127.0.0.1",
    instanceKey: expect.stringMatching(/^project\/dev-[0-9a-f]{12}\/chat$/) as string,
    dataDir: join(run.folder, "pulumi-apichat", inputs.instanceKey),
  });
  expect(run.lines).toEqual([]);
});

test.each([
  { host: "::1", port: 0, publicUrl: "https://tunnel.example/a/", dataDir: "/var/lib/apichat/" },
  acme({ path: "/", forwardTo: "http://127.0.0.1:3000/?token=abcdefgh" }),
  acme({ path: "/größe/~a" }),
  acme({ verificationKeys: [KEY, OTHER_KEY] }),
  { workspaces: { acme: { verificationKeys: KEY } } },
  // Values that a preview does not know.
  acme({ verificationKeys: UNKNOWN }),
  acme({ verificationKeys: [KEY, UNKNOWN] }),
  acme({ path: UNKNOWN, forwardTo: UNKNOWN, subject: UNKNOWN }),
  // The default path, /healthz, would be rejected, but this path is set, and only a preview does not know it.
  { workspaces: { healthz: { path: UNKNOWN, verificationKeys: KEY } } },
  { workspaces: { acme: UNKNOWN } },
  { workspaces: UNKNOWN },
  { host: UNKNOWN, port: UNKNOWN, publicUrl: UNKNOWN, dataDir: UNKNOWN },
])("valid inputs pass: %j", async (more) => {
  expect((await check(more)).failures).toEqual([]);
  expect(run.lines).toEqual([]);
});

describe("the folder", () => {
  test("ignores a relative XDG_STATE_HOME, as the XDG specification requires", async () => {
    vi.stubEnv("XDG_STATE_HOME", "relative");
    vi.stubEnv("HOME", run.folder);
    const { dataDir, instanceKey } = await checked();
    expect(dataDir).toBe(join(run.folder, ".local/state/pulumi-apichat", instanceKey));
  });

  test("stays the default if the stack or resource is renamed; is reset if no longer set by the program", async () => {
    const olds = await checked();
    const renamed = { name: "renamed", instanceKey: "project/prod/renamed" };
    expect((await checked(renamed, olds)).dataDir).toBe(olds.dataDir);
    const { dataDir, instanceKey } = await checked({}, { ...olds, dataDir: "/var/lib/apichat" });
    expect(dataDir).toBe(join(run.folder, "pulumi-apichat", instanceKey));
  });

  test("differs between stacks that have the same name in different backends", async () => {
    const project = join(run.folder, "program");
    await mkdir(join(project, "src"), { recursive: true });
    vi.spyOn(process, "cwd").mockReturnValue(join(project, "src"));
    vi.stubEnv("PULUMI_HOME", run.folder);
    vi.stubEnv("PULUMI_BACKEND_URL", undefined);
    const folders: string[] = [];
    const note = async (): Promise<void> => void folders.push((await checked()).dataDir);
    await note();
    await writeFile(join(run.folder, "credentials.json"), '{"current":"https://api.pulumi.com"}');
    await note();
    await writeFile(join(project, "Pulumi.yaml"), "name: project\nbackend: { url: s3://acme }\n");
    await note();
    vi.stubEnv("PULUMI_BACKEND_URL", "file:///srv/state");
    await note();
    expect(new Set(folders).size).toBe(4);
    // This URL means the same backend as the last one.
    vi.stubEnv("PULUMI_BACKEND_URL", "file:///srv/state/");
    expect((await checked()).dataDir).toBe(folders.at(-1));
  });

  test("must be outside the program's folder, whose files are usually committed", async () => {
    const program = join(run.folder, "program");
    const link = join(run.folder, "link");
    await Promise.all([mkdir(program), symlink(program, link)]);
    vi.spyOn(process, "cwd").mockReturnValue(program);
    expect((await check({ dataDir: `${program}-data` })).failures).toEqual([]);
    for (const dataDir of [program, join(program, "state/new"), join(link, "state")]) {
      const { property, reason } = await failureWith({ dataDir });
      expect(property).toBe("dataDir");
      expect(reason).toMatch(/^dataDir: must be outside the program's folder, got .*would be committed/);
    }
  });

  test("must not be shared by two resources", async () => {
    const responders = new ResponderLifecycle();
    const checkOne = (name: string) => responders.check({}, argsOf({ name, dataDir: "/var/lib/apichat" }));
    for (const name of ["chat", "chat"]) expect((await checkOne(name)).failures).toEqual([]);
    expect((await checkOne("another")).failures).toMatchObject([
      { reason: expect.stringContaining('"another" and "chat" share /var/lib/apichat') as string },
    ]);
  });
});

test("on CI, publicUrl is required", async () => {
  vi.stubEnv("CI", "woodpecker");
  const { property, reason } = await failureWith({});
  expect(property).toBe("");
  expect(reason).toMatch(/ends with the CI job.*Run pulumi up on the machine.*or give publicUrl/);
  expect((await check({ publicUrl: "https://tunnel.example" })).failures).toEqual([]);
  expect((await check({ publicUrl: UNKNOWN })).failures).toEqual([]);
  for (const value of ["", "0", "false"]) {
    vi.stubEnv("CI", value);
    expect((await check()).failures).toEqual([]);
  }
});

// The rules for the process's configuration are tested with its schema (test/unit/server/config.test.ts).
test.each<[Values, reason: RegExp]>([
  [acme({ forwardTo: "localhost?a=secret-value" }), /^workspaces.acme.forwardTo: must be an absolute/],
  [
    acme({ verificationKeys: undefined }),
    /^workspaces.acme.verificationKeys: must be a key or a non-empty list .* got nothing/,
  ],
  [
    acme({ forwardTO: "x" }),
    /^workspaces.acme.forwardTO: is not a known field; the fields are .*verificationKeys/,
  ],
  [acme({ verificationKeys: [KEY, ` ${KEY}`] }), /^workspaces.acme.verificationKeys\[1\]: must be without/],
  [{ publicUrl: "https://tunnel.example/?a=secret-value" }, /^publicUrl: must have no query/],
  [{ derivedFrom: "secret-value", rotations: ["1"] }, /^derivedFrom: must contain at least 32 random/],
])("wrong inputs are rejected without showing their secrets: %j", async (more, reason) => {
  const failure = await failureWith(more);
  expect(failure.reason).toMatch(reason);
  expect(failure.reason).not.toContain("secret-value");
  expect(failure.reason).not.toContain(KEY);
  // If the failure named the property, the engine would print that property's value, which may be a secret.
  expect(failure.property).toBe("");
});

describe("derived keys", () => {
  const derivation = { derivedFrom: SEED, rotations: ["2026-12", "2026-09"] };
  const derived = DERIVED[0]?.[3] ?? [];

  test("come before the workspace's other keys in verificationKeys, and the inputs contain no seed", async () => {
    const inputs = await checked(derivation);
    expect(inputs.workspaces["acme"]?.verificationKeys).toEqual([...derived, KEY]);
    expect(JSON.stringify(inputs)).not.toContain(SEED);
    expect(inputs).not.toHaveProperty("rotations");
  });

  test("are enough for a workspace without other keys, and depend on its subject", async () => {
    const inputs = await checked({ ...derivation, workspaces: { beta: { subject: "acme" } } });
    expect(inputs.workspaces).toEqual({ beta: { path: "/beta", verificationKeys: derived } });
  });

  test("are unknown in a preview that does not know the seed, the rotations or the subject", async () => {
    for (const more of [{ derivedFrom: UNKNOWN }, { rotations: UNKNOWN }, acme({ subject: UNKNOWN })]) {
      const { workspaces } = await checked({ ...derivation, ...more });
      expect(workspaces["acme"]?.verificationKeys).toBe(UNKNOWN);
    }
  });
});
