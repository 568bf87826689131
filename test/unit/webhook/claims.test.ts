import { spawnSync } from "node:child_process";
import {
  appendFileSync,
  chmodSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { SharedClaims } from "../../../provider/webhook/claims.js";
import { joinRun } from "../../../provider/webhook/run.js";
import { botCodeOf } from "../../../provider/lib/url.js";
import { findSecrets } from "../../support/secrets.js";
import {
  API_KEY,
  GET,
  VERIFICATION_KEY,
  checked,
  create,
  failureOf,
  isolateRuns,
  remove,
  startCreated,
  startRun,
  update,
} from "./harness.js";

const lines = isolateRuns();

const ENGINE = "127.0.0.1:40001";
/** Another process that lives, and one that has ended. */
const LIVING = process.ppid;
const ENDED = spawnSync(process.execPath, ["-v"]).pid;

const CLAIM = { bot: "f1", name: "acme", claimId: "c1" };

let root: string;

beforeEach(() => {
  const folder = mkdtempSync(join(tmpdir(), "apichat-claims-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  vi.stubEnv("TMPDIR", folder);
  root = join(folder, `pulumi-apichat-${hostname()}-${process.getuid?.()}`);
});

const open = (pid = process.pid, engine = ENGINE): SharedClaims => {
  const claims = new SharedClaims(engine, { pid });
  onTestFinished(claims.close);
  return claims;
};

const filesOf = (engine = ENGINE): string[] => {
  const folder = join(root, encodeURIComponent(engine));
  return existsSync(folder) ? readdirSync(folder) : [];
};

const pathOf = (pid: number): string => join(root, encodeURIComponent(ENGINE), `${pid}.jsonl`);

describe("a claim of another process of the run", () => {
  test("is seen as soon as it is written, with whether its program declares the name", () => {
    const [own, other] = [open(), open(LIVING)];
    expect(own.claimOf("f1", "c2")).toBeUndefined();
    other.write(CLAIM);
    expect(own.claimOf("f1", "c2")).toEqual({ ...CLAIM, isDeclared: false });
    other.write({ name: "acme", address: "a1" });
    other.write({ ...CLAIM, claimId: "c3" });
    expect(own.claimOf("f1", "c2")).toEqual({ ...CLAIM, claimId: "c3", isDeclared: true });
    expect(own.claimOf("f1", "c3")).toBeUndefined();
    expect(own.claimOf("f2", "c2")).toBeUndefined();
  });

  test("counts for the workspace that its program declares last", () => {
    const [own, other] = [open(), open(LIVING)];
    other.write({ name: "acme", address: "a1" });
    expect(own.nameAt(["a0", "a1"])).toBe("acme");
    other.write({ name: "acme", address: "a2" });
    expect(own.nameAt(["a1"])).toBeUndefined();
  });

  test("is none of its own, of another run, or of a process that has ended, whose file goes", () => {
    const own = open();
    own.write(CLAIM);
    open(LIVING, "127.0.0.1:40002").write(CLAIM);
    open(ENDED).write(CLAIM);
    expect(own.claimOf("f1", "c2")).toBeUndefined();
    expect(filesOf()).toHaveLength(2);
    open(LIVING, "127.0.0.1:40003").write(CLAIM);
    expect(filesOf()).toEqual([`${process.pid}.jsonl`]);
  });

  test("is read when its line is whole", () => {
    const [own, other] = [open(), open(LIVING)];
    other.write({ ...CLAIM, bot: "f2" });
    const text = JSON.stringify(CLAIM);
    appendFileSync(pathOf(LIVING), text.slice(0, 9));
    expect(own.claimOf("f1", "c2")).toBeUndefined();
    appendFileSync(pathOf(LIVING), `${text.slice(9)}\n`);
    expect(own.claimOf("f1", "c2")).toMatchObject(CLAIM);
  });
});

describe("the folder of the claims", () => {
  test("is for this user only, and goes with the last process of a run", () => {
    const [own, other] = [open(), open(LIVING)];
    own.write(CLAIM);
    other.write(CLAIM);
    expect([root, join(root, encodeURIComponent(ENGINE))].map((path) => statSync(path).mode & 0o777)).toEqual(
      [0o700, 0o700],
    );
    expect(statSync(pathOf(LIVING)).mode & 0o777).toBe(0o600);
    own.close();
    other.close();
    expect(readdirSync(root)).toEqual([]);
  });

  test("begins anew where a former process had the same pid and the engine the same port", () => {
    open().write(CLAIM);
    const own = open();
    own.write({ ...CLAIM, bot: "f2" });
    expect(readFileSync(pathOf(process.pid), "utf8")).toBe(`${JSON.stringify({ ...CLAIM, bot: "f2" })}\n`);
  });

  test.each<[string, () => void]>([
    ["open to others", () => (open(LIVING).write(CLAIM), chmodSync(root, 0o755))],
    ["a link", () => symlinkSync(tmpdir(), root)],
    ["no folder", () => writeFileSync(root, "")],
  ])("that is %s is not used, which is said once", (_, spoil) => {
    spoil();
    const own = open();
    own.write(CLAIM);
    own.write(CLAIM);
    expect(own.claimOf("f1", "c2")).toBeUndefined();
    expect(lines).toEqual([expect.stringMatching(/^pulumi-apichat: warning: .*set TMPDIR/)]);
  });
});

interface Known {
  /** As files name the workspace of acme, and its bot. */
  address: string;
  bot: string;
  /** Of the state. */
  claimId: string;
}

/** The next run, in which another process, whose file is `other`, has written something. */
async function startShared(
  { args, state }: Awaited<ReturnType<typeof startCreated>>,
  write: (known: Known, other: SharedClaims) => void,
): Promise<void> {
  joinRun(ENGINE);
  await checked(args);
  const text = readFileSync(pathOf(process.pid), "utf8");
  expect(findSecrets(text, [API_KEY, VERIFICATION_KEY])).toEqual([]);
  const { address } = JSON.parse(text) as { address: string };
  // A digest, and nothing that it is made of.
  expect(address).toMatch(/^[\w-]{43}$/);
  startRun();
  joinRun(ENGINE);
  write({ address, bot: botCodeOf(state.botUrl), claimId: state.applied.claimId }, open(LIVING));
}

type Writing = [string, Parameters<typeof startShared>[1]];

describe("delete leaves the webhook of which another process", () => {
  test.each<Writing>([
    ["has adopted the registration", ({ bot }, other) => other.write({ bot, name: "acme", claimId: "c9" })],
    ["declares the workspace", ({ address }, other) => other.write({ name: "acme", address })],
  ])("%s, under the same name too", async (_, write) => {
    const started = await startCreated();
    await startShared(started, write);
    await remove(started.state);
    expect(lines).toEqual(['acme: the webhook stays: it is still managed by this program, as "acme"']);
    expect(started.actions()).toEqual([]);
    expect(started.acme.registration).toBeDefined();
  });
});

describe("delete removes the webhook of which another process", () => {
  test.each<Writing>([
    ["has the same state", ({ bot, claimId }, other) => other.write({ bot, name: "acme", claimId })],
    ["holds another bot", (_, other) => other.write({ ...CLAIM, bot: "f0" })],
    ["declares another workspace", (_, other) => other.write({ name: "acme", address: "a1" })],
    ["knew, and has ended", ({ bot }) => open(ENDED).write({ ...CLAIM, bot })],
  ])("%s", async (_, write) => {
    const started = await startCreated();
    await startShared(started, write);
    await remove(started.state);
    expect(started.acme.registration).toBeUndefined();
  });
});

describe("two resources for one workspace, in two processes,", () => {
  test("are a conflict that names both, and writes nothing", async () => {
    const started = await startCreated();
    await startShared(started, ({ bot, address }, other) => {
      other.write({ name: "elsewhere", address });
      other.write({ bot, name: "elsewhere", claimId: "c9" });
    });
    const { message } = await failureOf(create(started.args));
    expect(message).toContain('"acme" and "elsewhere"');
    expect(started.actions()).toEqual(GET);
  });

  test.each<Writing>([
    // The state of a resource that has moved, or is dropped.
    ["whose program does not declare it", ({ bot }, other) => other.write({ ...CLAIM, bot })],
    [
      "that holds the same state",
      ({ bot, address, claimId }, other) => {
        other.write({ name: "acme", address });
        other.write({ bot, name: "acme", claimId });
      },
    ],
  ])("are none for one %s", async (_, write) => {
    const started = await startCreated();
    await startShared(started, write);
    expect(await update(started.state, started.args)).toEqual(started.state);
  });
});
