import { createHash } from "node:crypto";
import { chmod, writeFile } from "node:fs/promises";
import { hostname } from "node:os";
import { join } from "node:path";
import { describe, expect, it, vi } from "vitest";
import { ApiChatError } from "../../../provider/errors/index.js";
import { loadConfig, readPlace } from "../../../provider/server/config.js";
import { deriveVerificationKeys } from "../../../provider/responder/derive.js";
import { SEED } from "../../support/derived-keys.js";
import { KEY, makeFolder, SECOND_KEY, writeConfig } from "./harness.js";

const ACME = { verificationKeys: [KEY] };
const SMALLEST = { port: 8080, dataDir: "/var/lib/apichat", workspaces: { acme: ACME } };

async function load(config: unknown, mode?: number) {
  const folder = await makeFolder();
  return { folder, loaded: await loadConfig(await writeConfig(folder, config, mode)) };
}

/** The text with which a configuration is refused. */
async function refusalOf(config: unknown): Promise<string> {
  const file = await writeConfig(await makeFolder(), config);
  const error: unknown = await loadConfig(file).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(ApiChatError);
  const { code, message } = error as ApiChatError;
  expect(code).toBe("invalid_config");
  expect(message.startsWith(`${file}:`)).toBe(true);
  expect(message).not.toContain(KEY);
  return message;
}

describe("a configuration", () => {
  it("gets its defaults and a digest, takes one key without a list, and has its paths as on the wire", async () => {
    const workspaces = { acme: { verificationKeys: KEY }, beta: { ...ACME, path: "/gespräch" } };
    const text = `${JSON.stringify({ ...SMALLEST, workspaces })}\n\n`;
    const { loaded } = await load(text);
    expect(loaded).toMatchObject({
      digest: createHash("sha256").update(text).digest("hex"),
      warnings: [],
      config: {
        host: "127.0.0.1",
        port: 8080,
        dataDir: "/var/lib/apichat",
        workspaces: {
          acme: { verificationKeys: [KEY], path: "/acme" },
          beta: { verificationKeys: [KEY], path: "/gespr%C3%A4ch" },
        },
        healthPath: "/healthz",
      },
    });
  });

  it("takes keys from texts, files and the environment", async () => {
    const folder = await makeFolder();
    await writeFile(join(folder, "key"), `${SECOND_KEY}\n`);
    vi.stubEnv("APICHAT_TEST_KEY", "key-of-the-environment-0123456789");
    const sources = [KEY, { file: "key" }, { file: join(folder, "key") }, { env: "APICHAT_TEST_KEY" }];
    const config = { ...SMALLEST, workspaces: { acme: { verificationKeys: sources } } };
    const loaded = await loadConfig(await writeConfig(folder, config));
    vi.unstubAllEnvs();
    expect(loaded.config.workspaces["acme"]?.verificationKeys).toEqual([
      KEY,
      SECOND_KEY,
      SECOND_KEY,
      "key-of-the-environment-0123456789",
    ]);
  });

  it("derives keys from a seed, before those that a workspace lists, and from its own subject", async () => {
    vi.stubEnv("APICHAT_TEST_SEED", SEED);
    const { loaded } = await load({
      ...SMALLEST,
      workspaces: { acme: ACME, beta: { subject: "acme" }, gamma: {} },
      derivedFrom: [{ env: "APICHAT_TEST_SEED" }],
      rotations: ["2026-12", "2026-09"],
    });
    vi.unstubAllEnvs();
    const { acme, beta, gamma } = loaded.config.workspaces;
    const derived = await deriveVerificationKeys(SEED, {
      subject: "acme",
      rotations: ["2026-12", "2026-09"],
    });
    expect(acme?.verificationKeys).toEqual([...derived, KEY]);
    expect(beta?.verificationKeys).toEqual(derived);
    expect(gamma?.verificationKeys).not.toEqual(derived);
    expect(loaded.redact(`a ${SEED} b ${String(derived[1])}`)).toBe("a [redacted] b [redacted]");
    expect(loaded.config).not.toHaveProperty("derivedFrom");
  });

  it.each([
    [{ derivedFrom: SEED }, "rotations: is missing"],
    [{ rotations: ["1"] }, "derivedFrom: is missing"],
    [{ derivedFrom: "short-seed", rotations: ["1"] }, "derivedFrom: [0] must hold at least 32 random bytes"],
    [
      { derivedFrom: { env: "NOT_SET" }, rotations: ["1"] },
      "derivedFrom: must be a variable of the environment",
    ],
    [{ derivedFrom: SEED, rotations: [] }, "rotations: must be a list of 1 to 10 names"],
    [
      { derivedFrom: SEED, rotations: ["1"], workspaces: { acme: { subject: "" } } },
      "workspaces.acme.subject: must be",
    ],
    [{ workspaces: { acme: {} } }, "workspaces.acme.verificationKeys: must be a key or a list"],
  ])("is refused where keys cannot be derived, and quotes no seed: %#", async (more, problem) => {
    const message = await refusalOf({ ...SMALLEST, ...more });
    expect(message).toContain(problem);
    expect(message).not.toMatch(/short-seed|a9Zt0/);
  });

  it("names its data folder, relative to itself, and its workspaces, also where its keys cannot be had", async () => {
    const folder = await makeFolder();
    const workspaces = { acme: { verificationKeys: { env: "APICHAT_NOT_SET" } } };
    const file = await writeConfig(folder, { ...SMALLEST, dataDir: "data", workspaces });
    expect(await readPlace(file)).toEqual({ dataDir: join(folder, "data"), workspaces: ["acme"] });
  });

  it("that others can read is a warning, since it holds keys", async () => {
    const { folder, loaded } = await load(SMALLEST, 0o640);
    expect(loaded.warnings).toEqual([expect.stringContaining(`chmod 600 ${join(folder, "config.json")}`)]);
  });

  it("that others can read is none if its keys stand elsewhere; then it is their files that count", async () => {
    const folder = await makeFolder();
    await writeFile(join(folder, "open"), SECOND_KEY, { mode: 0o644 });
    await writeFile(join(folder, "closed"), SECOND_KEY, { mode: 0o600 });
    const beta = { verificationKeys: { file: join(folder, "open") } };
    const acme = { verificationKeys: [{ file: "open" }, { file: "closed" }] };
    const file = await writeConfig(folder, { ...SMALLEST, workspaces: { acme, beta } });
    await chmod(file, 0o644);
    const open = join(folder, "open");
    expect((await loadConfig(file)).warnings).toEqual([
      `${open} holds a key and is open to other users of this machine: chmod 600 ${open}`,
    ]);
    await chmod(open, 0o600);
    expect((await loadConfig(file)).warnings).toEqual([]);
  });

  it("that forwards in clear text is a warning without the query of the URL", async () => {
    const forwardTo = "http://chat.example/in?token=hidden";
    const { loaded } = await load({ ...SMALLEST, workspaces: { acme: { ...ACME, forwardTo } } });
    expect(loaded.warnings).toEqual([expect.stringContaining("http://chat.example/in?token=***")]);
  });
});

describe("a wrong configuration", () => {
  const acmeWith = (more: object): object => ({ workspaces: { acme: { ...ACME, ...more } } });
  const wrong: [what: string, config: unknown, ...parts: string[]][] = [
    ["no file content", "", "must be JSON in UTF-8"],
    ["JSON with a mistake", `{ "key": "${KEY}",\n  oops }`, "must be JSON in UTF-8", "line 2"],
    ["a list", [], "must be an object, got a list"],
    ["an unknown field", { prot: 1 }, "prot: is not a known field"],
    ["no port", { port: undefined }, "port: must be a whole number from 0 to 65535, got nothing"],
    ["a port that is none", { port: 65_536 }, "from 0 to 65535, got 65536"],
    [
      "a host with a scheme",
      { host: "http://127.0.0.1" },
      "host: must be an address",
      'got "http://127.0.0.1"',
    ],
    ["no workspaces", { workspaces: {} }, "workspaces: must have at least one"],
    ["a name that no path takes", { workspaces: { "a/b": ACME } }, 'got "a/b"'],
    ["a key as a workspace", { workspaces: { acme: KEY } }, "workspaces.acme: must be an object"],
    ["no keys", acmeWith({ verificationKeys: [] }), "got an empty list"],
    ["an empty key", acmeWith({ verificationKeys: "" }), "must be non-empty"],
    [
      "a key in a wrong object",
      acmeWith({ verificationKeys: [{ value: KEY }] }),
      "workspaces.acme.verificationKeys",
      '{ "env": "NAME" }',
    ],
    ["a key with white space", acmeWith({ verificationKeys: `${KEY} ` }), "without white space around it"],
    [
      "a key file that is not there",
      acmeWith({ verificationKeys: { file: "/nowhere/key" } }),
      "got /nowhere/key (ENOENT)",
    ],
    [
      "a variable that is not set",
      acmeWith({ verificationKeys: { env: "APICHAT_NOT_SET" } }),
      "got APICHAT_NOT_SET, which is not set",
    ],
    [
      "a target that is no URL",
      acmeWith({ forwardTo: "localhost:3000" }),
      "acme.forwardTo: must be an absolute http",
    ],
    [
      "two workspaces on one path",
      { workspaces: { acme: { ...ACME, path: "/x" }, other: { ...ACME, path: "/x" } } },
      "workspaces.other.path: must be a path of its own, got /x, which is that of workspaces.acme",
    ],
    [
      "a workspace on the health path",
      { workspaces: { healthz: ACME } },
      "got /healthz, which is that of healthPath",
    ],
    ["a path without a slash", acmeWith({ path: "acme" }), 'must be a path that starts with "/", got "acme"'],
    [
      "a path with a query",
      acmeWith({ path: "/x?y" }),
      "acme.path: must be a path without query and fragment; write",
    ],
    ["half a second", { forwardWithinSeconds: 0.5 }, "must be a whole number of at least 1, got 0.5"],
  ];
  it.each(wrong)("is refused with what is wrong and how to fix it: %s", async (_what, config, ...parts) => {
    const isPart = typeof config === "object" && !Array.isArray(config);
    const message = await refusalOf(isPart ? { ...SMALLEST, ...config } : config);
    for (const part of parts) expect(message).toContain(part);
  });

  it("is refused with everything at once: shapes, and what is wrong beyond the shape of another part", async () => {
    const message = await refusalOf({
      ...SMALLEST,
      prot: 1,
      dataDir: 7,
      workspaces: {
        a: { ...ACME, forwardTo: "localhost:3000" },
        b: { verificationKeys: 7, path: "/a" },
        c: { verificationKeys: `${KEY} ` },
        "d/e": { ...ACME, prot: 1 },
      },
    });
    expect(message.split("\n  ").slice(1)).toEqual([
      expect.stringMatching(/^dataDir: .*got 7/),
      expect.stringMatching(/^workspaces\.b\.verificationKeys: .*got a number/),
      expect.stringMatching(/^workspaces\["d\/e"\]\.prot: is not a known field/),
      expect.stringMatching(/^prot: is not a known field/),
      expect.stringMatching(/^workspaces: a name .*got "d\/e"/),
      expect.stringMatching(/^workspaces\.a\.forwardTo: must be an absolute http/),
      expect.stringMatching(/^workspaces\.b\.path: must be a path of its own, got \/a/),
      expect.stringMatching(/^workspaces\.c\.verificationKeys: .*without white space/),
    ]);
  });

  it.each([
    ["127.0.0.1", "127.0.0.1"],
    ["127.0.0.1", "localhost"],
    ["127.0.0.1", "0.0.0.0"],
    ["127.0.0.1", "[::1]"],
    ["127.0.0.1", "127.1"],
    ["localhost", "127.0.0.1"],
    ["::1", "LOCALHOST"],
    ["0.0.0.0", "127.0.0.7"],
    ["::", "[::ffff:127.0.0.1]"],
    ["0.0.0.0", hostname()],
    ["192.0.2.1", "192.0.2.1"],
  ])("that listens on %s and forwards to %s, which is itself, is refused", async (host, called) => {
    const acme = { ...ACME, forwardTo: `http://${called}:8080/beta?token=hidden` };
    const message = await refusalOf({ ...SMALLEST, host, workspaces: { acme, beta: ACME } });
    expect(message).toContain("workspaces.acme.forwardTo: must be the URL of your own program, got http://");
    expect(message).toContain("this responder's own workspace beta");
    expect(message).not.toContain("hidden");
  });

  it.each([
    ["127.0.0.1", "http://127.0.0.1:8081/acme"],
    ["127.0.0.1", "http://127.0.0.1/acme"],
    ["127.0.0.1", "http://127.0.0.1:8080/in"],
    ["127.0.0.1", "http://127.0.0.2:8080/acme"],
    ["192.0.2.1", "http://localhost:8080/acme"],
    ["0.0.0.0", "http://192.0.2.1:8080/acme"],
  ])("is not what listens on %s and forwards to %s", async (host, forwardTo) => {
    const { loaded } = await load({ ...SMALLEST, host, workspaces: { acme: { ...ACME, forwardTo } } });
    expect(loaded.config.workspaces["acme"]).toMatchObject({ forwardTo });
  });

  it("that is not there is named with its path", async () => {
    const file = join(await makeFolder(), "config.json");
    await expect(loadConfig(file)).rejects.toThrow(`${file}: cannot be read (ENOENT)`);
  });
});
