import { createHmac } from "node:crypto";
import { beforeAll, expect, test } from "vitest";
import { makeWriter, runCli, VERIFICATION_KEY } from "./cli-harness.ts";

const BODY = '{"text":"Olá"}\n';
const RIGHT = `sha256=${createHmac("sha256", VERIFICATION_KEY).update(BODY).digest("hex")}`;

let file: string;
beforeAll(async () => {
  const writeFile = await makeWriter();
  file = await writeFile("body.json", BODY);
});

const sign = (parameters: readonly string[], stdin?: string) =>
  runCli(["sign", ...parameters], { environment: { APICHAT_VERIFICATION_KEY: VERIFICATION_KEY }, stdin });

test("apichat sign signs every byte of a file or of stdin", async () => {
  expect(await sign([file])).toMatchObject({ exitCode: 0, stdout: `${RIGHT}\n`, stderr: "" });
  expect(await sign([], BODY)).toMatchObject({ stdout: `${RIGHT}\n` });
  const withoutBreak = (await sign(["-", "--json"], BODY.trim())).json as { signature: string };
  expect(withoutBreak.signature).toMatch(/^sha256=[0-9a-f]{64}$/);
  expect(withoutBreak.signature).not.toBe(RIGHT);
});

test.each([
  ["the right signature", RIGHT, { exitCode: 0, stdout: expect.stringMatching(/^right: /) }],
  [
    "a signature of a different body",
    `sha256=${"0".repeat(64)}`,
    { exitCode: 1, stdout: expect.stringMatching(/^wrong: it was signed with a different key/) },
  ],
])("--check checks %s", async (_, signature, said) => {
  expect(await sign([file, "--check", signature])).toMatchObject({ ...said, stderr: "" });
});
