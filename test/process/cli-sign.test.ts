import { createHmac } from "node:crypto";
import { beforeAll, describe, expect, test } from "vitest";
import { makeFolder, runCli, VERIFICATION_KEY } from "./cli-harness.ts";
import type { Said } from "./program.ts";

const BODY = '{"text":"Olá"}\n';
const RIGHT = `sha256=${createHmac("sha256", VERIFICATION_KEY).update(BODY).digest("hex")}`;

let file: string;
beforeAll(async () => {
  const writeFile = await makeFolder();
  file = await writeFile("body.json", BODY);
});

const sign = (parameters: readonly string[], stdin?: string): Promise<Said> =>
  runCli(["sign", ...parameters], {
    environment: { APICHAT_VERIFICATION_KEY: VERIFICATION_KEY },
    ...(stdin === undefined ? {} : { stdin }),
  });

describe("apichat sign", () => {
  test("signs every byte of a file or of stdin", async () => {
    const whole = { exitCode: 0, stdout: `${RIGHT}\n`, stderr: "" };
    expect(await sign([file])).toMatchObject(whole);
    expect(await sign(["-"], BODY)).toMatchObject(whole);
    expect(await sign([], BODY)).toMatchObject(whole);
    expect((await sign([], BODY.trim())).stdout).not.toBe(whole.stdout);
    expect(JSON.parse((await sign([file, "--json"])).stdout)).toEqual({ signature: RIGHT });
  });

  test("--check ends with 0 for the right signature, and with 1 for any other", async () => {
    expect(await sign([file, "--check", RIGHT])).toMatchObject({ exitCode: 0, stderr: "" });
    const wrong = await sign([file, "--check", `sha256=${"0".repeat(64)}`]);
    expect(wrong).toMatchObject({
      exitCode: 1,
      stdout: expect.stringMatching(/^wrong: another key/) as string,
    });
    const malformed = await sign(["-", "--check", RIGHT.toUpperCase(), "--json"], BODY);
    expect(malformed.exitCode).toBe(1);
    expect(JSON.parse(malformed.stdout)).toEqual({
      valid: false,
      reason: expect.stringMatching(/^a signature is sha256=/) as string,
    });
    const right = await sign([file, "--check", RIGHT, "--json"]);
    expect(JSON.parse(right.stdout)).toEqual({ valid: true, reason: "" });
  });

  test("wrong use is 2: no key, no file", async () => {
    expect((await sign([`${file}-not-there`])).exitCode).toBe(2);
    const said = await runCli(["sign", file]);
    expect(said).toMatchObject({ exitCode: 2, stdout: "" });
    expect(said.stderr).toContain("APICHAT_VERIFICATION_KEY");
  });
});
