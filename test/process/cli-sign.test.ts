import { createHmac } from "node:crypto";
import { beforeAll, describe, expect, test } from "vitest";
import { makeWriter, runCli, VERIFICATION_KEY, wrongUse } from "./cli-harness.ts";

const BODY = '{"text":"Olá"}\n';
const RIGHT = `sha256=${createHmac("sha256", VERIFICATION_KEY).update(BODY).digest("hex")}`;

let file: string;
beforeAll(async () => {
  const writeFile = await makeWriter();
  file = await writeFile("body.json", BODY);
});

const sign = (parameters: readonly string[], stdin?: string) =>
  runCli(["sign", ...parameters], { environment: { APICHAT_VERIFICATION_KEY: VERIFICATION_KEY }, stdin });

describe("apichat sign", () => {
  test("signs every byte of a file or of stdin", async () => {
    const whole = { exitCode: 0, stdout: `${RIGHT}\n`, stderr: "" };
    expect(await sign([file])).toMatchObject(whole);
    expect(await sign(["-"], BODY)).toMatchObject(whole);
    expect((await sign([], BODY.trim())).stdout).not.toBe(whole.stdout);
    expect(await sign([file, "--json"])).toMatchObject({ json: { signature: RIGHT } });
  });

  test.each([
    ["the right one", RIGHT, 0, /^$/],
    ["one of another body", `sha256=${"0".repeat(64)}`, 1, /^another key/],
    ["no signature", RIGHT.toUpperCase(), 1, /^a signature is sha256=/],
  ])("--check judges %s", async (_, signature, exitCode, reason) => {
    const json = { valid: exitCode === 0, reason: expect.stringMatching(reason) };
    expect(await sign(["-", "--check", signature, "--json"], BODY)).toMatchObject({ exitCode, json });
    const stdout = expect.stringMatching(exitCode === 0 ? /^right: / : /^wrong: /);
    expect(await sign([file, "--check", signature])).toMatchObject({ exitCode, stdout, stderr: "" });
  });

  test("a file that is not there is wrong use", async () => {
    expect(await sign([`${file}-not-there`, "--json"])).toMatchObject(wrongUse(/ENOENT/));
  });
});
