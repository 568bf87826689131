import { createDelivery } from "pulumi-apichat/responder";
import { describe, expect, it } from "vitest";
import { requestStatus } from "../../dist/provider/server/control-client.js";
import { startReceiver } from "../support/receiver.ts";
import { deliverTo } from "../support/responder.ts";
import { KEY, makeHome, run, startResponder, type Said } from "./program.ts";

const parseLines = ({ stdout }: Said): Record<string, unknown>[] =>
  stdout
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as Record<string, unknown>);

describe("what a responder keeps", () => {
  it("is listed while it runs and when it has stopped, by workspace and up to a limit", async () => {
    const workspaces = { acme: { verificationKeys: KEY }, beta: { verificationKeys: KEY } };
    const home = await makeHome({ workspaces });
    const { child, ended, origin } = await startResponder(home);
    const text = "\u009b31m\u001b[31m\u202e";
    for (let index = 0; index < 3; index++)
      await fetch(
        await createDelivery("text", { url: `${origin}/acme`, verificationKey: KEY, message: { text } }),
      );
    await deliverTo(`${origin}/beta`, KEY);
    const place = ["--config", home.configFile];
    const said = await run("responder", "deliveries", ...place, "--json");
    // No character of a sender drives the terminal.
    expect(said.stdout.replaceAll("\n", "")).not.toMatch(/[\p{Cc}\p{Bidi_Control}]/u);
    const listed = parseLines(said);
    expect(listed.map(({ workspace }) => workspace)).toEqual(["acme", "acme", "acme", "beta"]);
    expect(listed[0]).toMatchObject({ conversation: "1", attempts: 0 });
    expect(JSON.parse(String(listed[0]?.["body"]))).toMatchObject({ type: "text", text });
    child.kill("SIGTERM");
    await ended;
    const beta = await run("responder", "deliveries", "--data-dir", home.dataDir, "--workspace", "beta");
    expect(beta.stdout.split("\n")).toEqual([
      expect.stringMatching(/^[0-9a-f-]{36} {2}20\d\d-.*Z {2}beta, conversation 1$/),
      expect.stringMatching(/^ {2}\{"sender_id"/),
      "",
    ]);
    const two = await run("responder", "deliveries", "--data-dir", home.dataDir, "--limit", "2", "--json");
    expect(parseLines(two)).toHaveLength(2);
    expect(two.stderr).toBe("there are more: see --limit\n");
    const none = await run("responder", "dead-letters", "--data-dir", home.dataDir);
    expect(none).toEqual({ exitCode: 0, signal: null, stdout: "", stderr: "no dead letters\n" });
  });

  it("and could not forward is listed with the reason, and forwarded again under the same id", async () => {
    const receiver = await startReceiver();
    receiver.answerWith(422);
    const home = await makeHome({ workspaces: { acme: { verificationKeys: KEY, forwardTo: receiver.url } } });
    const { origin, instance } = await startResponder(home);
    for (let index = 0; index < 3; index++) await deliverTo(`${origin}/acme`, KEY);
    const counts = async () => (await requestStatus(instance))?.workspaces["acme"];
    await expect.poll(counts).toMatchObject({ pending: 0, deadLetters: 3 });
    const place = ["--data-dir", home.dataDir];
    const [first, ...others] = parseLines(await run("responder", "dead-letters", ...place, "--json"));
    expect(others).toHaveLength(2);
    expect(first).toMatchObject({ failure: expect.stringContaining("422") as string });

    receiver.answerWith(200);
    receiver.received.length = 0;
    const one = await run("responder", "replay", String(first?.["id"]), ...place);
    expect(one).toMatchObject({ exitCode: 0, stdout: "1 to be forwarded again\n", stderr: "" });
    await expect.poll(() => receiver.received.map(({ id }) => id)).toEqual([first?.["id"]]);
    const all = await run("responder", "replay", "--all", ...place, "--json");
    expect(JSON.parse(all.stdout)).toEqual({ replayed: 2 });
    await expect.poll(counts).toMatchObject({ pending: 0, deadLetters: 0 });
    expect(receiver.received).toHaveLength(3);

    const unknown = await run("responder", "replay", String(first?.["id"]), "nope\u0007", ...place);
    expect(unknown).toMatchObject({
      exitCode: 1,
      stdout: "",
      stderr: `error: no dead letters: ${String(first?.["id"])}, nope; apichat responder dead-letters lists those that there are\n`,
    });
    const none = await run("responder", "replay", "--all", ...place);
    expect(none).toMatchObject({ exitCode: 0, stdout: "", stderr: "no dead letters\n" });
  });

  it("and waits for its next attempt tells when that is due, and is forwarded at once by retry", async () => {
    const receiver = await startReceiver();
    receiver.answerWith(503);
    const workspace = { verificationKeys: KEY, forwardTo: receiver.url };
    const home = await makeHome({ workspaces: { acme: workspace, beta: { verificationKeys: KEY } } });
    const { origin, child, ended } = await startResponder(home);
    await deliverTo(`${origin}/acme`, KEY);
    await deliverTo(`${origin}/beta`, KEY);
    const place = ["--config", home.configFile];
    const list = async () => parseLines(await run("responder", "deliveries", ...place, "--json"));
    // From then on the next attempt is farther away than this test is long.
    await expect.poll(() => receiver.received.length, { timeout: 20_000 }).toBeGreaterThanOrEqual(4);
    const nextAttemptMs = async () => Date.parse(String((await list())[0]?.["nextAttemptAt"]));
    await expect.poll(nextAttemptMs).toBeGreaterThan(Date.now() + 1_000);
    const [, beta] = await list();
    expect(beta).not.toHaveProperty("nextAttemptAt");
    receiver.answerWith(200);
    const said = await run("responder", "retry", ...place, "--workspace", "acme");
    expect(said).toMatchObject({ exitCode: 0, stdout: "1 to be forwarded again\n", stderr: "" });
    await expect.poll(async () => (await list()).map(({ workspace: name }) => name)).toEqual(["beta"]);
    child.kill("SIGTERM");
    await ended;
    const none = await run("responder", "retry", ...place);
    expect(none).toMatchObject({ exitCode: 0, stdout: "", stderr: "nothing waits for its next attempt\n" });
  }, 40_000);

  it("is not searched for a workspace that neither the configuration nor the spool knows", async () => {
    const workspaces = { acme: { verificationKeys: KEY }, beta: { verificationKeys: KEY } };
    const home = await makeHome({ workspaces });
    const { origin } = await startResponder(home);
    await deliverTo(`${origin}/acme`, KEY);
    // All of them find their spool in one way.
    const wrong = ["retry", "--workspace", "nope"];
    const [byConfig, bySpool] = await Promise.all([
      run("responder", ...wrong, "--config", home.configFile),
      run("responder", ...wrong, "--data-dir", home.dataDir),
    ]);
    expect(byConfig).toMatchObject({
      exitCode: 2,
      stdout: "",
      stderr: "error: no such workspace; there are acme, beta\n",
    });
    expect(bySpool).toMatchObject({ exitCode: 0, stdout: "" });
    expect(bySpool.stderr).toContain("nothing of workspace nope");
    // Gone from the configuration, and still kept.
    await home.configure({ workspaces: { beta: { verificationKeys: KEY } } });
    const place = ["--config", home.configFile, "--workspace", "acme", "--json"];
    expect(parseLines(await run("responder", "deliveries", ...place))).toHaveLength(1);
  }, 30_000);
});
