import { randomBytes } from "node:crypto";
import { readFile, readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { requestReload, requestStatus, requestStop } from "../../dist/provider/server/control-client.js";
import { startReceiver } from "../support/receiver.ts";
import { deliverTo } from "../support/responder.ts";
import { findSecrets } from "../support/secrets.ts";
import { makeHome, startResponder } from "./program.ts";

const WORKSPACES = 1000;

const makeKeys = (): string[] =>
  Array.from({ length: WORKSPACES }, () => randomBytes(32).toString("base64url"));

const [first, second, third] = [makeKeys(), makeKeys(), makeKeys()];
/** In the query of a target: a secret that is no verification key. */
const TARGET_TOKEN = "token-of-the-target-0123456789";
const secrets = [...first, ...second, ...third, TARGET_TOKEN];

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
  it("is started, rotated and stopped, and shows no key outside of its configuration", async () => {
    const receiver = await startReceiver();
    receiver.answerWith(500);
    const home = await makeHome(configOf(first, second, `${receiver.url}/?token=${TARGET_TOKEN}`));
    const { child, ended, instance, origin } = await startResponder(home, ["--instance", "many"]);
    expect(instance.instance).toBe("many");
    const log = (): Promise<string> => readFile(join(home.dataDir, "responder.log"), "utf8");
    expect(await deliverTo(`${origin}/w0`, first[0] ?? "")).toBe(200);
    await expect.poll(log).toContain('"not forwarded"');
    // A wrong URL, which the log shows.
    expect(await deliverTo(`${origin}/${first[7]}`, "another-key-0123456789")).toBe(404);
    expect(await log()).toContain('"path":"/[redacted]"');
    // The text of the message.
    expect(await log()).not.toContain("Hello");

    await home.configure(configOf(third, first));
    await requestReload(instance);
    expect(await deliverTo(`${origin}/w999`, third[999] ?? "")).toBe(200);
    expect(await deliverTo(`${origin}/w999?${third[998]}`, second[999] ?? "")).toBe(401);
    await home.configure(`{ "${third[0]}"`);
    await expect(requestReload(instance)).rejects.toMatchObject({ code: "invalid_config" });

    const places = [`/proc/${child.pid}/cmdline`, `/proc/${child.pid}/environ`];
    const texts = await Promise.all(places.map((place) => readFile(place, "latin1")));
    texts.push(JSON.stringify(await requestStatus(instance)));
    expect(await requestStop(instance)).toBe(true);
    expect(await ended).toMatchObject({ exitCode: 0, stdout: "", stderr: "" });
    // Its announcement is gone, and with it the only place of the token.
    const files = await readdir(home.dataDir);
    expect(files).toEqual(expect.arrayContaining(["responder.log", "spool.sqlite"]));
    for (const file of files) {
      // A responder that ran for some seconds has its reserve: 8 MiB of random bytes, which take minutes to search.
      if (!file.endsWith("-reserve")) texts.push(await readFile(join(home.dataDir, file), "latin1"));
      expect([file, (await stat(join(home.dataDir, file))).mode & 0o077]).toEqual([file, 0]);
    }
    expect(findSecrets(texts.join("\n"), [...secrets, instance.token])).toEqual([]);
  });
});
