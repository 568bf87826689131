import { randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { readInstance, requestReload, requestStop } from "../../dist/provider/server/control-client.js";
import { startReceiver } from "../support/receiver.ts";
import { deliverTo } from "../support/responder.ts";
import { findSecrets } from "../support/secrets.ts";
import { makeHome, startProgram, startResponder } from "./program.ts";

const WORKSPACES = 1000;

const makeKeys = (): string[] =>
  Array.from({ length: WORKSPACES }, () => randomBytes(32).toString("base64url"));

const [first, second, third] = [makeKeys(), makeKeys(), makeKeys()];
const keys = [...first, ...second, ...third];

/** Each with two keys, as during a rotation. Those of the first are forwarded. */
const configOf = (current: string[], other: string[], forwardTo?: string): object => ({
  workspaces: Object.fromEntries(
    current.map((key, index) => [
      `w${index}`,
      { verificationKeys: [key, other[index]], ...(index === 0 && { forwardTo }) },
    ]),
  ),
});

describe("a responder of 1,000 workspaces with two keys each", () => {
  it("starts, forwards in vain, is rotated, refuses a wrong configuration and stops, and shows no key", async () => {
    const receiver = await startReceiver();
    receiver.answerWith(500);
    const home = await makeHome(configOf(first, second, `${receiver.url}/?token=${first[0]}`));
    const { ended, instance, origin } = await startResponder(home, ["--instance", "many"]);
    const log = (): Promise<string> => readFile(join(home.dataDir, "responder.log"), "utf8");
    expect(await deliverTo(`${origin}/w0`, first[0] ?? "")).toBe(200);
    await expect.poll(log).toContain('"not forwarded"');
    // A wrong URL, which the log shows.
    expect(await deliverTo(`${origin}/${first[7]}`, "another-key-0123456789")).toBe(404);
    expect(await log()).toContain('"path":"/[redacted]"');

    await home.configure(configOf(third, first));
    await requestReload(instance);
    expect(await deliverTo(`${origin}/w999`, third[999] ?? "")).toBe(200);
    expect(await deliverTo(`${origin}/w999`, second[999] ?? "")).toBe(401);
    await home.configure(`{ "${third[0]}"`);
    await expect(requestReload(instance)).rejects.toMatchObject({ code: "invalid_config" });

    expect(await requestStop(instance)).toBe(true);
    const { exitCode, stdout, stderr } = await ended;
    expect(exitCode).toBe(0);
    expect(findSecrets(stdout + stderr + (await log()), keys)).toEqual([]);
    await receiver.close();
  });

  it("ends with 1 where it cannot start, and shows no key", async () => {
    const receiver = await startReceiver();
    const home = await makeHome({ ...configOf(first, second), port: Number(new URL(receiver.url).port) });
    const { exitCode, stdout, stderr } = await startProgram(["responder", "--config", home.configFile]).ended;
    expect(exitCode).toBe(1);
    expect(stderr).toContain("the port is taken");
    expect(findSecrets(stdout + stderr, keys)).toEqual([]);
    expect(await readInstance(home.dataDir)).toBeUndefined();
    await receiver.close();
  });
});
