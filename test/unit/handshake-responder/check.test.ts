import { mkdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test, vi } from "vitest";
import { check as checkRaw } from "../../../provider/handshake-responder/check.js";
import { forgetDeclared } from "../../../provider/handshake-responder/declared.js";
import type { ProcessInputs } from "../../../provider/handshake-responder/inputs.js";
import type { CheckResult } from "../../../provider/lib/checks.js";
import { UNKNOWN } from "../../../provider/lib/checks.js";
import { argsOf, isolateRuns, KEY, OTHER_KEY } from "../../support/responder-runs.js";

const run = isolateRuns(forgetDeclared);

type Values = Record<string, unknown>;

const check = (more: Values = {}, olds: unknown = {}): Promise<CheckResult<ProcessInputs>> =>
  checkRaw(olds, argsOf(more));

/** The inputs as check leaves them; throws if it finds them wrong. */
async function checked(more: Values = {}, olds: unknown = {}): Promise<ProcessInputs> {
  const { inputs, failures } = await check(more, olds);
  expect(failures).toEqual([]);
  return inputs;
}

/** The one failure of otherwise valid inputs. */
async function failureWith(more: Record<string, unknown>): Promise<{ property: string; reason: string }> {
  const { failures } = await check(more);
  expect(failures).toHaveLength(1);
  return failures[0] ?? { property: "", reason: "" };
}

const acme = (more: Record<string, unknown>): Record<string, unknown> => ({
  workspaces: { acme: { path: "/acme", ...more } },
});

describe("valid inputs", () => {
  test("get host and folder, and pass", async () => {
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
    { host: "0.0.0.0" },
    { host: "::1" },
    { host: "chat.internal" },
    { port: 0 },
    { port: 65_535 },
    { publicUrl: "https://tunnel.example/a/" },
    { dataDir: "/var/lib/apichat/" },
    acme({ forwardTo: "http://127.0.0.1:3000/?token=abcdefgh" }),
    acme({ path: "/" }),
    acme({ path: "/gr%C3%B6%C3%9Fe/~a" }),
    acme({ path: "/größe" }),
    { verificationKeys: { acme: [KEY, OTHER_KEY] } },
  ])("pass: %j", async (more) => {
    expect((await check(more)).failures).toEqual([]);
    expect(run.lines).toEqual([]);
  });

  test("values that a preview does not know pass", async () => {
    for (const more of [
      { verificationKeys: UNKNOWN },
      { verificationKeys: { acme: UNKNOWN } },
      { verificationKeys: { acme: [KEY, UNKNOWN] } },
      acme({ path: UNKNOWN, forwardTo: UNKNOWN }),
      { workspaces: UNKNOWN },
      { host: UNKNOWN, port: UNKNOWN, publicUrl: UNKNOWN, dataDir: UNKNOWN },
    ]) {
      expect((await check(more)).failures).toEqual([]);
    }
  });

  test("a short key is warned of", async () => {
    await checked({ verificationKeys: { acme: [KEY, "short"] } });
    expect(run.lines).toEqual([
      expect.stringContaining(
        "chat: warning: workspaces.acme.verificationKeys[1] has fewer than 16 characters",
      ),
    ]);
    expect(run.lines.join()).not.toContain("short and");
  });
});

/** A folder as versions before the file owner.txt left it. */
async function makeFormer(key: string): Promise<string> {
  const dataDir = join(run.folder, "pulumi-apichat/project/dev/chat");
  await mkdir(dataDir, { recursive: true });
  const workspaces = { acme: { verificationKeys: [key], path: "/acme" } };
  await writeFile(join(dataDir, "config.json"), JSON.stringify({ workspaces }));
  return dataDir;
}

describe("the folder", () => {
  test("a relative state folder of the environment is ignored, as its specification says", async () => {
    vi.stubEnv("XDG_STATE_HOME", "relative");
    vi.stubEnv("HOME", run.folder);
    const { dataDir, instanceKey } = await checked();
    expect(dataDir).toBe(join(run.folder, ".local/state/pulumi-apichat", instanceKey));
  });

  test("a resource renamed with an alias keeps its folder, and a renamed stack too", async () => {
    const olds = await checked();
    forgetDeclared();
    const { dataDir } = await checked({ name: "renamed", instanceKey: "project/prod/renamed" }, olds);
    expect(dataDir).toBe(olds.dataDir);
  });

  test("a folder that the program names no more is left for the default one", async () => {
    const olds = await checked({ dataDir: "/var/lib/apichat" });
    const { dataDir, instanceKey } = await checked({}, olds);
    expect(dataDir).toBe(join(run.folder, "pulumi-apichat", instanceKey));
  });

  test("differs for stacks of one name in two organizations, and for two names", async () => {
    const folders = [
      await checked(),
      await checked({ organization: "acme" }),
      await checked({ organization: "globex" }),
      await checked({ organization: "globex", instanceKey: "project/dev/other" }),
    ].map(({ dataDir }) => dataDir);
    expect(new Set(folders).size).toBe(4);
    expect((await checked()).dataDir).toBe(folders[0]);
  });

  test("differs for stacks of one name in two backends, wherever the engine finds those named", async () => {
    const project = join(run.folder, "program");
    await mkdir(join(project, "src"), { recursive: true });
    vi.spyOn(process, "cwd").mockReturnValue(join(project, "src"));
    vi.stubEnv("PULUMI_HOME", run.folder);
    vi.stubEnv("PULUMI_BACKEND_URL", undefined);
    const folders: string[] = [];
    const expectAnother = async (): Promise<void> => {
      const { dataDir } = await checked();
      expect(folders).not.toContain(dataDir);
      folders.push(dataDir);
    };
    await expectAnother();
    await writeFile(join(run.folder, "credentials.json"), '{"current":"https://api.pulumi.com"}');
    await expectAnother();
    await writeFile(join(project, "Pulumi.yaml"), "name: project\nbackend: { url: s3://acme }\n");
    await expectAnother();
    vi.stubEnv("PULUMI_BACKEND_URL", "file:///srv/state");
    await expectAnother();
    // The same one, written in another way.
    vi.stubEnv("PULUMI_BACKEND_URL", "file:///srv/state/");
    expect((await checked()).dataDir).toBe(folders.at(-1));
  });

  describe("as versions before the file owner.txt named it", () => {
    test("stays while the state names it", async () => {
      const dataDir = join(run.folder, "pulumi-apichat/project/dev/chat");
      expect((await checked({}, { ...argsOf(), dataDir })).dataDir).toBe(dataDir);
    });

    test("is found again without a state by a key in it", async () => {
      const dataDir = await makeFormer(KEY);
      expect((await checked({ verificationKeys: { acme: [OTHER_KEY, KEY] } })).dataDir).toBe(dataDir);
    });

    test("is another's if its keys are", async () => {
      const dataDir = await makeFormer(OTHER_KEY);
      expect((await checked()).dataDir).not.toBe(dataDir);
    });
  });

  test("one in the program's folder is refused, also behind a link, because it would be committed", async () => {
    const link = join(run.folder, "link");
    await symlink(process.cwd(), link);
    for (const dataDir of [process.cwd(), join(process.cwd(), "state/new"), join(link, "state")]) {
      const { property, reason } = await failureWith({ dataDir });
      expect(property).toBe("dataDir");
      expect(reason).toMatch(/^dataDir: must be outside the program's folder, got .*would be committed/);
    }
  });

  test("one beside the program's folder passes", async () => {
    const sibling = join(run.folder, "program-data");
    await mkdir(join(run.folder, "program"));
    vi.spyOn(process, "cwd").mockReturnValue(join(run.folder, "program"));
    expect((await check({ dataDir: sibling })).failures).toEqual([]);
  });

  test("two resources of one folder are refused, and both are named", async () => {
    await checked({ dataDir: "/var/lib/apichat" });
    await checked({ dataDir: "/var/lib/apichat" });
    const { reason } = await failureWith({ name: "another", dataDir: "/var/lib/apichat" });
    expect(reason).toContain('"another" and "chat" share /var/lib/apichat');
  });
});

describe("on CI", () => {
  test.each(["true", "1", "woodpecker"])("without publicUrl it is refused: CI=%s", async (value) => {
    vi.stubEnv("CI", value);
    const { property, reason } = await failureWith({});
    expect(property).toBe("");
    expect(reason).toMatch(/ends with the CI job.*Run pulumi up on the machine.*or give publicUrl/);
    expect((await check({ publicUrl: "https://tunnel.example" })).failures).toEqual([]);
    expect((await check({ publicUrl: UNKNOWN })).failures).toEqual([]);
  });

  test.each(["", "0", "false"])("CI=%j is no CI", async (value) => {
    vi.stubEnv("CI", value);
    expect((await check()).failures).toEqual([]);
  });
});

describe("wrong inputs", () => {
  test.each([
    [{ workspaces: {} }, /^workspaces: must have at least one; write/],
    [
      { workspaces: { "a b": { path: "/a" } }, verificationKeys: { "a b": [KEY] } },
      /^workspaces: a name must be 1 to 64 of .*, got "a b"/,
    ],
    [
      acme({ path: "acme" }),
      /^workspaces.acme.path: must be a path that starts with "\/", got "acme"; write/,
    ],
    [acme({ path: "/acme?a=secret-value" }), /^workspaces.acme.path: must be a path without query/],
    [acme({ path: "/a/../healthz" }), /^workspaces.acme.path: .* got \/healthz, which is that of healthPath/],
    [acme({ path: 5 }), /^workspaces.acme.path: must be a path, got 5/],
    [acme({ forwardTo: "localhost:3000" }), /^workspaces.acme.forwardTo: must be an absolute http or https/],
    [{ verificationKeys: { acme: [] } }, /^workspaces.acme.verificationKeys: must be a string, got nothing/],
    [{ verificationKeys: {} }, /^workspaces.acme.verificationKeys: must be a string, got nothing/],
    [
      { verificationKeys: { acme: [KEY, ` ${KEY}`] } },
      /^workspaces.acme.verificationKeys\[1\]: must be without/,
    ],
    [{ host: "http://127.0.0.1" }, /^host: must be an address or a host name, without scheme and port, got/],
    [{ host: "127.0.0.1:80" }, /^host: must be an address or a host name/],
    [{ host: 1 }, /^host: must be an address or a host name.*, got 1/],
    [{ port: 65_536 }, /^port: must be a whole number from 0 to 65535, got 65536/],
    [{ port: 80.5 }, /^port: .* got 80.5/],
    [{ port: "80" }, /^port: .* got "80"/],
    [{ publicUrl: "tunnel.example" }, /^publicUrl: must be an absolute http or https URL/],
    [{ publicUrl: "https://tunnel.example/?a=secret-value" }, /^publicUrl: must have no query/],
    [{ dataDir: "state" }, /^dataDir: must be an absolute path, got "state"/],
  ])("%j", async (more, reason) => {
    const failure = await failureWith(more);
    expect(failure.reason).toMatch(reason);
    expect(failure.reason).not.toContain("secret-value");
    expect(failure.reason).not.toContain(KEY);
    // The engine prints the value of a named property, and these may hold a secret.
    const isSecret = /forwardTo|publicUrl|verificationKeys|query/.test(failure.reason);
    expect(isSecret && failure.property !== "").toBe(false);
  });

  test("two workspaces of one path are refused, and both are named", async () => {
    const { reason } = await failureWith({
      workspaces: { acme: { path: "/a" }, globex: { path: "/a" } },
      verificationKeys: { acme: [KEY], globex: [OTHER_KEY] },
    });
    expect(reason).toMatch(/^workspaces.globex.path: .* got \/a, which is that of workspaces.acme/);
  });

  test("are all named at once", async () => {
    const { failures } = await check({
      ...acme({ path: "acme", forwardTo: "x" }),
      verificationKeys: { acme: [""] },
      host: "",
      port: -1,
      publicUrl: "x",
      dataDir: "x",
    });
    expect(failures.map(({ reason }) => reason.split(":")[0])).toEqual([
      "host",
      "port",
      "workspaces.acme.path",
      "workspaces.acme.forwardTo",
      "workspaces.acme.verificationKeys",
      "publicUrl",
      "dataDir",
    ]);
  });
});
