import { describe, expect, it } from "vitest";
import { startServer } from "../support/http.ts";
import { startReceiver } from "../support/receiver.ts";
import { deliverTo } from "../support/responder.ts";
import { readJsonLines } from "./cli-harness.ts";
import { countsOf, KEY, makeHome, run, startResponder } from "./program.ts";

describe("a delivery that a responder keeps", () => {
  it("can be listed by workspace and up to a limit, even after the responder has stopped", async () => {
    const workspaces = { acme: { verificationKeys: KEY }, beta: { verificationKeys: KEY } };
    const home = await makeHome({ workspaces });
    const { child, ended, origin } = await startResponder(home);
    const text = "\u009b31m\u001b[31m\u202e";
    for (let index = 0; index < 3; index++) await deliverTo(`${origin}/acme`, KEY, { text });
    await deliverTo(`${origin}/beta`, KEY);
    const said = await run("responder", "deliveries", "--config", home.configFile, "--json");
    // The sender's control characters must not reach the terminal.
    expect(said.stdout.replaceAll("\n", "")).not.toMatch(/[\p{Cc}\p{Bidi_Control}]/u);
    const listed = readJsonLines(said.stdout);
    expect(listed.map(({ workspace }) => workspace)).toEqual(["acme", "acme", "acme", "beta"]);
    expect(listed[0]).toMatchObject({ conversation: "1", attempts: 0 });
    expect(JSON.parse(String(listed[0]?.["body"]))).toMatchObject({ type: "text", text });
    const receiver = await startReceiver();
    const [id] = listed.map((one) => String(one["id"]));
    const resend = ["responder", "deliveries", "resend", String(id), "--to", receiver.url];
    const resendIt = (...more: string[]) => run(...resend, "--config", home.configFile, ...more);
    const stdout: unknown = expect.stringMatching(/^delivered {2}HTTP 200/);
    expect(await resendIt()).toMatchObject({ exitCode: 0, stdout });
    receiver.answerWith(500);
    expect(await resendIt("--json")).toMatchObject({ exitCode: 1, stderr: "" });
    expect(receiver.received.map(({ id: sent, body }) => [sent, body.toString()])).toEqual([
      [id, listed[0]?.["body"]],
      [id, listed[0]?.["body"]],
    ]);
    child.kill("SIGTERM");
    await ended;
    // The workspace beta is removed from the configuration, but its delivery is kept.
    await home.configure({ workspaces: { acme: { verificationKeys: KEY } } });
    const beta = await run("responder", "deliveries", "--config", home.configFile, "--workspace", "beta");
    expect(beta.stdout.split("\n")).toEqual([
      expect.stringMatching(/^[0-9a-f-]{36} {2}20\d\d-.*Z {2}beta, conversation 1$/),
      expect.stringMatching(/^ {2}\{"sender_id"/),
      "",
    ]);
    const two = await run("responder", "deliveries", "--data-dir", home.dataDir, "--limit", "2", "--json");
    expect(readJsonLines(two.stdout)).toHaveLength(2);
    expect(two.stderr).toBe("there are more: see --limit\n");
    const none = await run("responder", "dead-letters", "--workspace", "nope", "--data-dir", home.dataDir);
    expect(none).toMatchObject({ exitCode: 0, stdout: "", stderr: "no dead letters of workspace nope\n" });
  });

  it("is listed with the reason for its failure, and replayed with the same id", async () => {
    const receiver = await startReceiver();
    receiver.answerWith(422);
    const home = await makeHome({ workspaces: { acme: { verificationKeys: KEY, forwardTo: receiver.url } } });
    const { child, ended, origin } = await startResponder(home);
    for (let index = 0; index < 3; index++) await deliverTo(`${origin}/acme`, KEY);
    const counts = () => countsOf(home);
    await expect.poll(counts).toMatchObject({ pending: 0, deadLetters: 3 });
    const place = ["--data-dir", home.dataDir];
    const dead = await run("responder", "dead-letters", ...place, "--json");
    const [first, ...others] = readJsonLines(dead.stdout);
    expect(others).toHaveLength(2);
    expect(first).toMatchObject({ failure: expect.stringContaining("422") as string });

    receiver.answerWith(200);
    receiver.received.length = 0;
    const one = await run("responder", "replay", String(first?.["id"]), ...place);
    expect(one).toMatchObject({ exitCode: 0, stdout: "1 will be forwarded again\n", stderr: "" });
    await expect.poll(() => receiver.received.map(({ id }) => id)).toEqual([first?.["id"]]);
    const all = await run("responder", "replay", "--all", ...place, "--json");
    expect(JSON.parse(all.stdout)).toEqual({ replayed: 2 });
    await expect.poll(counts).toMatchObject({ pending: 0, deadLetters: 0 });
    expect(receiver.received).toHaveLength(3);

    expect(await run("responder", "replay", ...place)).toMatchObject({
      stderr: expect.stringMatching(/^error: pass either ids of dead letters or --all/),
      exitCode: 2,
    });
    expect(await run("responder", "replay", String(first?.["id"]), "nope\u0007", ...place)).toMatchObject({
      exitCode: 1,
      stdout: "",
      stderr:
        `error: not dead letters: ${String(first?.["id"])}, nope\\u0007; to list all, run ` +
        "npx --package pulumi-apichat apichat responder dead-letters\n",
    });

    receiver.answerWith(422);
    await deliverTo(`${origin}/acme`, KEY);
    await expect.poll(counts).toMatchObject({ deadLetters: 1 });
    child.kill("SIGTERM");
    await ended;
    const later = await run("responder", "replay", "--all", ...place);
    expect(later.stdout).toBe("1 will be forwarded again when the responder starts\n");
    receiver.answerWith(200);
    receiver.received.length = 0;
    await startResponder(home);
    await expect.poll(() => receiver.received).toHaveLength(1);
  });

  it("is listed with the time of its next attempt, and retry forwards it at once", async () => {
    const target = await startServer((_, response, index) =>
      response.writeHead(index === 0 ? 503 : 200, { "retry-after": "3600" }).end(),
    );
    const home = await makeHome({ workspaces: { acme: { verificationKeys: KEY, forwardTo: target.url } } });
    const { origin } = await startResponder(home);
    await deliverTo(`${origin}/acme`, KEY);
    const counts = () => countsOf(home);
    await expect.poll(() => target.requests.length).toBe(1);
    const place = ["--config", home.configFile];
    const list = async () =>
      readJsonLines((await run("responder", "deliveries", ...place, "--json")).stdout)[0];
    // The result is recorded shortly after the response.
    await expect.poll(list).toMatchObject({ failure: expect.stringContaining("503") });
    expect(Date.parse(String((await list())?.["nextAttemptAt"]))).toBeGreaterThan(Date.now());
    const said = await run("responder", "retry", ...place, "--workspace", "acme");
    expect(said).toMatchObject({ exitCode: 0, stdout: "1 will be forwarded again\n", stderr: "" });
    await expect.poll(counts).toMatchObject({ pending: 0 });
    const none = await run("responder", ...place, "retry");
    expect(none).toMatchObject({ exitCode: 0, stdout: "", stderr: "no waiting deliveries\n" });
  });
});
