import { chmod, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { fileShape, keysOf, loadConfig } from "../../../provider/server/config.js";
import { deriveVerificationKeys } from "../../../provider/responder/derive.js";
import { SEED } from "../../support/derived-keys.js";
import { readPage } from "../../support/pages.js";
import { KEY, makeFolder, SECOND_KEY, writeConfig } from "./harness.js";

const ACME = { verificationKeys: [KEY] };
const SMALLEST = { port: 8080, dataDir: "/var/lib/apichat", workspaces: { acme: ACME } };

/** Sets an environment variable for one test, and returns a reference to it. */
function setVariable(value: string): { env: string } {
  vi.stubEnv("APICHAT_TEST", value);
  onTestFinished(() => void vi.unstubAllEnvs());
  return { env: "APICHAT_TEST" };
}

const load = async (config: unknown, folder?: string, mode?: number) =>
  loadConfig(await writeConfig(folder ?? (await makeFolder()), config, mode));

/** Returns the error for a configuration, without the file's name. */
async function refusalOf(config: unknown): Promise<string> {
  const file = await writeConfig(await makeFolder(), config);
  const error: unknown = await loadConfig(file).catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ code: "invalid_config" });
  const [name, text = ""] = (error as Error).message.split(/(?<=config\.json):\s/);
  expect(name).toBe(file);
  for (const secret of [KEY, SEED, "short-seed", "hidden"]) expect(text).not.toContain(secret);
  return text.trim();
}

const warning = (what: string, path: string): string =>
  `${path} holds ${what} and is open to other users of this machine: chmod 600 ${path}`;

describe("a configuration", () => {
  it("has defaults, accepts a single key, and encodes its paths", async () => {
    const workspaces = { acme: { verificationKeys: KEY }, beta: { ...ACME, path: "/gespräch" } };
    const text = `${JSON.stringify({ ...SMALLEST, workspaces })}\n\n`;
    expect(await load(text)).toEqual({
      warnings: [],
      config: {
        ...SMALLEST,
        host: "127.0.0.1",
        workspaces: { acme: { ...ACME, path: "/acme" }, beta: { ...ACME, path: "/gespr%C3%A4ch" } },
        healthPath: "/healthz",
      },
    });
  });

  it("reads keys from strings, files and the environment", async () => {
    const folder = await makeFolder();
    await writeFile(join(folder, "key"), `${SECOND_KEY}\n`);
    const variable = setVariable("key-of-the-environment-0123456789");
    const verificationKeys = [KEY, { file: "key" }, { file: join(folder, "key") }, variable];
    const { config } = await load({ ...SMALLEST, workspaces: { acme: { verificationKeys } } }, folder);
    expect(config.workspaces["acme"]?.verificationKeys).toEqual([
      KEY,
      SECOND_KEY,
      SECOND_KEY,
      "key-of-the-environment-0123456789",
    ]);
  });

  it("derives each subject's keys from a seed, and puts them before the workspace's own keys", async () => {
    const rotations = ["2026-12", "2026-09"];
    const workspaces = { acme: ACME, beta: { subject: "acme" }, gamma: {} };
    const derivedFrom = [setVariable(SEED)];
    const { config } = await load({ ...SMALLEST, workspaces, derivedFrom, rotations });
    const [ofAcme, ofGamma] = await Promise.all(
      ["acme", "gamma"].map((subject) => deriveVerificationKeys(SEED, { subject, rotations })),
    );
    const keys = await Promise.all(Object.keys(workspaces).map((name) => keysOf(config, name)));
    expect(keys).toEqual([[...(ofAcme ?? []), KEY], ofAcme, ofGamma]);
  });

  it("is documented, with each field and its default", () => {
    const { text } = readPage("docs/operate/responder.md");
    const { shape } = fileShape;
    const fields = [...Object.keys(shape), ...Object.keys(shape.workspaces.valueType.shape)];
    expect(fields.filter((field) => !new RegExp(`[\`"]${field}[\`"]`).test(text))).toEqual([]);
    for (const value of ["86400", "1048576", "`/healthz`", "`127.0.0.1`"])
      expect(text).toMatch(new RegExp(`[Dd]efault ${value}`));
  });

  it("causes warnings about files with keys that other users can open, and about http targets", async () => {
    const folder = await makeFolder();
    const [file, open] = [join(folder, "config.json"), join(folder, "open")];
    await writeFile(open, SECOND_KEY, { mode: 0o644 });
    await writeFile(join(folder, "closed"), SECOND_KEY, { mode: 0o600 });
    const warningsOf = async (...workspaces: object[]): Promise<string[]> =>
      (await load({ ...SMALLEST, workspaces: Object.fromEntries(workspaces.entries()) }, folder, 0o640))
        .warnings;
    expect(await warningsOf(ACME)).toEqual([warning("keys", file)]);
    await chmod(file, 0o600);
    expect(await warningsOf({ ...ACME, forwardTo: "http://chat.example/in?token=hidden" })).toEqual([
      expect.stringContaining("http://chat.example/in?token=***"),
    ]);
    // If the keys are in other files, only the modes of those files are checked.
    await chmod(file, 0o644);
    const elsewhere = [
      { verificationKeys: { file: open } },
      { verificationKeys: [{ file: "open" }, { file: "closed" }] },
    ];
    expect(await warningsOf(...elsewhere)).toEqual([warning("a key", open)]);
    await chmod(open, 0o600);
    expect(await warningsOf(...elsewhere)).toEqual([]);
  });
});

describe("a wrong configuration", () => {
  const acme = (more: object): object => ({ workspaces: { acme: { ...ACME, ...more } } });
  const KEYS = "workspaces.acme.verificationKeys";
  const MANY_KEYS = Array.from({ length: 33 }, (_, index) => `${KEY}-${index}`);

  it.each<[problem: string, config: unknown]>([
    ["must be JSON", ""],
    ["must be JSON; error at line 2 column 3", `{ "key": "${KEY}",\n  oops }`],
    ["must be an object, got a list", []],
    ["prot: is not a known field", { prot: 1 }],
    ["port: must be a whole number from 0 to 65535, got nothing", { port: undefined }],
    ["port: must be a whole number from 0 to 65535, got 65536", { port: 65_536 }],
    ["host: must be an address or a host name, without a scheme", { host: "http://127.0.0.1" }],
    ["forwardWithinSeconds: must be a whole number of at least 1, got 0.5", { forwardWithinSeconds: 0.5 }],
    ["workspaces: must contain at least one", { workspaces: {} }],
    ["workspaces: a name must be 1 to 64", { workspaces: { "a/b": ACME } }],
    ["workspaces.acme: must be an object", { workspaces: { acme: KEY } }],
    [`${KEYS}: must be a key or a non-empty list of keys`, acme({ verificationKeys: undefined })],
    [`${KEYS}: must be a key or a non-empty list of keys, got an empty list`, acme({ verificationKeys: [] })],
    [`${KEYS}: must be at most 32 keys, got 33`, acme({ verificationKeys: MANY_KEYS })],
    [
      `${KEYS}: must be at most 32 keys, got 33, derived ones included`,
      { derivedFrom: SEED, rotations: ["1", "2"], ...acme({ verificationKeys: MANY_KEYS.slice(2) }) },
    ],
    [`${KEYS}: must be non-empty`, acme({ verificationKeys: "" })],
    [`${KEYS}: must be without leading or trailing whitespace`, acme({ verificationKeys: `${KEY} ` })],
    [`${KEYS}[0]: must be a key, { "file": "/run`, acme({ verificationKeys: [{ value: KEY }] })],
    [`${KEYS}: must be a file that can be read, got /x`, acme({ verificationKeys: { file: "/x" } })],
    [`${KEYS}: must be an environment variable that is set, got X`, acme({ verificationKeys: { env: "X" } })],
    ["workspaces.acme.forwardTo: must be an absolute http", acme({ forwardTo: "localhost:3000?a=hidden" })],
    ["workspaces.acme.path: must be a path", acme({ path: "acme" })],
    ["workspaces.acme.path: must be a path", acme({ path: "/x?hidden" })],
    [
      "workspaces.b.path: must be unique, got /x, which workspace a already uses",
      { workspaces: { a: { ...ACME, path: "/x" }, b: { ...ACME, path: "/x" } } },
    ],
    ["got /healthz, which healthPath already uses", { workspaces: { healthz: ACME } }],
    ["got /readyz, which the ready path already uses", { workspaces: { readyz: ACME } }],
    ["rotations: is missing", { derivedFrom: SEED }],
    ["derivedFrom: is missing", { rotations: ["1"] }],
    ["derivedFrom: [0] must contain at least 32", { derivedFrom: "short-seed", rotations: ["1"] }],
    ["derivedFrom: must be an environment variable", { derivedFrom: { env: "X" }, rotations: ["1"] }],
    ["rotations: must be a list of 1 to 10 names", { derivedFrom: SEED, rotations: [] }],
    ["workspaces.acme.subject: must be", { derivedFrom: SEED, rotations: ["1"], ...acme({ subject: "" }) }],
  ])("is rejected, and no key is shown: %s", async (problem, config) => {
    const isPart = typeof config === "object" && !Array.isArray(config);
    expect(await refusalOf(isPart ? { ...SMALLEST, ...config } : config)).toContain(problem);
  });

  it("is rejected with an error that lists all problems", async () => {
    const a = { ...ACME, forwardTo: "localhost:3000" };
    const b = { verificationKeys: 7, path: "/a" };
    const c = { verificationKeys: `${KEY} ` };
    const workspaces = { a, b, c, "d/e": { ...ACME, prot: 1 } };
    const message = await refusalOf({ ...SMALLEST, prot: 1, dataDir: 7, workspaces });
    expect(message.split("\n  ").map((line) => line.trim().split(": must be")[0])).toEqual([
      "dataDir",
      expect.stringMatching(/^prot: is not a known field/),
      "workspaces.a.forwardTo",
      "workspaces.b.verificationKeys",
      "workspaces.c.verificationKeys",
      expect.stringMatching(/^workspaces\["d\/e"\]\.prot: is not a known field/),
      "workspaces.b.path",
      expect.stringMatching(/^workspaces: a name must be .*got "d\/e"/),
    ]);
  });
});
