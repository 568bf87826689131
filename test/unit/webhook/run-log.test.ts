import * as fs from "node:fs";
import { join } from "node:path";
import { beforeEach, expect, test } from "vitest";
import type { Fact } from "../../../provider/webhook/facts.ts";
import { memoryLog, openRunLog } from "../../../provider/webhook/run-log.ts";
import { makeFolder } from "../../support/folder.ts";

const ADDRESS = "127.0.0.1:50123";
const declared = (name: string): Fact => ({ fact: "declared", workspace: "w", resource: name, name });
const claim = (claimId: string) => ({ claimId, resource: claimId, name: claimId });
const held = (claimId: string): Fact => ({ fact: "held", step: "write", bot: "b", claim: claim(claimId) });
const released = (claimId: string): Fact => ({ fact: "released", bot: "b", claimId });

let folder = "";
beforeEach(async () => void (folder = join(await makeFolder(), "runs")));
const pathOfLog = (): string => join(folder, fs.readdirSync(folder)[0] ?? "");

test.each([
  ["within a process", () => [memoryLog()] as const],
  ["between two processes", () => [openRunLog(ADDRESS, folder), openRunLog(ADDRESS, folder)] as const],
])("facts are shared %s", (_, open) => {
  const [one, other = one] = open();
  one.append(declared("ä"));
  other.append(declared("globex"));
  expect(one.read().declarerOf("w", "ä")).toBe("globex");
  expect(other.read().declarerOf("w", "globex")).toBe("ä");
  one.append(held("1"));
  other.append(held("2"));
  one.append(released("1"));
  expect(one.read().otherHolderOf("b", "1")).toMatchObject({ claimId: "2" });
  other.append(released("2"));
  expect(one.read().otherHolderOf("b", "1")).toBeUndefined();
});

test("a different engine's facts are not read", () => {
  openRunLog(ADDRESS, folder).append(declared("acme"));
  expect(openRunLog("127.0.0.1:50124", folder).read().declarerOf("w")).toBeUndefined();
});

test("facts of an earlier engine with the same address are ignored after a gap", () => {
  fs.mkdirSync(folder, { mode: 0o700 });
  openRunLog(ADDRESS, folder);
  const early = JSON.stringify({ at: 1, ...declared("earlier") });
  fs.writeFileSync(pathOfLog(), `${early}\n`);
  const log = openRunLog(ADDRESS, folder);
  expect(log.read().declarerOf("w")).toBeUndefined();
  log.append(declared("now"));
  fs.appendFileSync(pathOfLog(), `${early}\n`);
  log.append(declared("after"));
  expect(log.read().declarerOf("w", "after")).toBe("now");
  expect(log.read().declarerOf("w", "now")).toBe("after");
});

test("an incomplete line is ignored, and a damaged line is an error", () => {
  const log = openRunLog(ADDRESS, folder);
  log.append(declared("acme"));
  log.read();
  const line = JSON.stringify({ at: 0, fact: "beat" });
  fs.appendFileSync(pathOfLog(), line.slice(0, 5));
  expect(log.read().declarerOf("w")).toBe("acme");
  fs.appendFileSync(pathOfLog(), "\n");
  expect(() => log.read()).toThrow(/has a line that was cut off/);
});

test("files older than a day are removed", () => {
  openRunLog(ADDRESS, folder);
  const before = pathOfLog();
  fs.utimesSync(before, 0, 0);
  openRunLog("127.0.0.1:50124", folder);
  expect(fs.readdirSync(folder).map((name) => join(folder, name))).not.toContain(before);
});

test.each([
  ["that others can read", () => (fs.mkdirSync(folder), fs.chmodSync(folder, 0o755))],
  ["that is a link", () => fs.symlinkSync(join(folder, ".."), folder)],
  ["that is a file", () => fs.writeFileSync(folder, "")],
])("a folder %s is not used", (_, prepare) => {
  prepare();
  const log = openRunLog(ADDRESS, folder);
  expect(log.problem).toContain(folder);
  log.append(declared("acme"));
  expect(log.read().declarerOf("w")).toBe("acme");
});

test("nothing is written without a home folder", () => {
  expect(openRunLog(ADDRESS, "pulumi-apichat/runs").problem).toBe("HOME is not set");
});
