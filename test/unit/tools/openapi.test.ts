import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { RecordedRequest } from "../../../provider/emulator/index.js";
import { findPython, preparePackages } from "../../../tools/openapi/environment.ts";
import { listUnreached } from "../../../tools/openapi/main.ts";
import { makeFolder, writeScript } from "./fixtures/fakes.ts";

const { signal } = new AbortController();
const requirements = new URL("../../../tools/openapi/requirements.txt", import.meta.url);

describe("the Python for schemathesis", () => {
  test("is the first that is new enough", async () => {
    const folder = makeFolder();
    writeScript(join(folder, "python3"), "echo 3.9");
    writeScript(join(folder, "python3.13"), "echo 3.13");
    expect(await findPython({ PATH: folder }, signal)).toEqual({ command: "python3.13", version: "3.13" });
  });

  test.each(["echo 3.10", "echo 2.7", "echo >&2 No module named ensurepip; exit 1"])(
    "is not one that says: %s",
    async (body) => {
      const folder = makeFolder();
      writeScript(join(folder, "python3"), body);
      expect(await findPython({ PATH: folder }, signal)).toBeUndefined();
    },
  );

  test("need not be there", async () => {
    expect(await findPython({ PATH: makeFolder() }, signal)).toBeUndefined();
  });
});

describe("the environment of schemathesis", () => {
  test("is made in the cache of the tools once, and again for another Python", async () => {
    const { env, python, log } = fakePython("exit 0");
    const path = await preparePackages(python, requirements, env, signal);
    expect(path).toMatch(
      new RegExp(`^${env.XDG_CACHE_HOME}/pulumi-apichat/schemathesis-[\\d.]+-python3.13/bin/python$`),
    );
    await preparePackages(python, requirements, env, signal);
    expect(readFileSync(log, "utf8").split("\n").filter(Boolean)).toHaveLength(1);
    await preparePackages({ ...python, version: "3.14" }, requirements, env, signal);
    expect(readFileSync(log, "utf8").split("\n").filter(Boolean)).toHaveLength(2);
  });

  test("that pip could not fill is made again, and the error shows what pip said", async () => {
    const { env, python, log } = fakePython("echo no such package; exit 1");
    const preparing = () => preparePackages(python, requirements, env, signal);
    await expect(preparing()).rejects.toThrow(
      /could not be installed.*\n.*no such package.*\n.*PIP_INDEX_URL/,
    );
    await expect(preparing()).rejects.toThrow(/no such package/);
    expect(existsSync(log) && readFileSync(log, "utf8").split("\n").filter(Boolean)).toHaveLength(2);
  });
});

/** A Python whose `-m venv --clear FOLDER` makes a Python there that does `body` when pip is asked of it. */
function fakePython(body: string) {
  const folder = makeFolder();
  const log = join(folder, "log");
  const command = join(folder, "python3");
  writeScript(join(folder, "inner"), body);
  writeScript(command, `echo "$4" >> "${log}"; mkdir -p "$4/bin" && cp "${folder}/inner" "$4/bin/python"`);
  const env = { PATH: "/usr/bin:/bin", HOME: folder, XDG_CACHE_HOME: join(folder, "cache") };
  return { env, python: { command, version: "3.13" }, log };
}

test("a run has to reach every operation with each outcome", () => {
  const operations = ["get-webhook", "set-webhook", "delete-webhook", "message"];
  const all = operations.flatMap((operation) => [200, 401, 422].map((status) => answered(operation, status)));
  expect(listUnreached(all)).toEqual([]);
  expect(listUnreached(all.slice(1))).toEqual(["get-webhook 2xx"]);
  expect(listUnreached([])).toHaveLength(12);
});

function answered(operation: string, status: number): RecordedRequest {
  const port = operation === "message" ? "bot" : "registration";
  return { interface: port, action: operation, status } as RecordedRequest;
}
