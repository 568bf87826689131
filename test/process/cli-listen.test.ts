import { describe, expect, it } from "vitest";
import { diagnoseHandshake } from "pulumi-apichat/diagnosis";
import { createDelivery, createHandshake } from "pulumi-apichat/responder";
import { freePort, startServer } from "../support/http.ts";
import { startReceiver } from "../support/receiver.ts";
import { findSecrets } from "../support/secrets.ts";
import { readJsonLines, startLive, type LiveProgram } from "./live-lines.ts";
import { KEY, run, startProgram } from "./program.ts";

interface Line extends Record<string, unknown> {
  type: string;
  id: number;
  url: string;
  headers: [string, string][];
}

async function listen(...parameters: string[]): Promise<{ program: LiveProgram; url: string }> {
  const program = startLive(["listen", ...parameters], { environment: { APICHAT_VERIFICATION_KEY: KEY } });
  const [url = ""] = await program.waitFor(/http:\/\/[^\s",;]+/);
  return { program, url };
}

/** Ends it as Ctrl-C does. */
async function end({ child, ended }: LiveProgram) {
  child.kill("SIGINT");
  return ended;
}

const post = (url: string, body: string, headers: Record<string, string> = {}): Promise<Response> =>
  fetch(url, { method: "POST", body, headers });

describe("apichat listen", () => {
  it("answers a handshake and prints each request with its verdict, until Ctrl-C ends it with 0", async () => {
    const { program, url } = await listen();
    const answer = await fetch(createHandshake({ url, verificationKey: KEY, challenge: "c1" }));
    expect(await answer.text()).toBe("c1");
    const wrongToken = await fetch(createHandshake({ url, verificationKey: "another", encoding: "json" }));
    expect(wrongToken.status).toBe(401);
    const right = await createDelivery("text", { url, verificationKey: KEY, message: { text: "Olá" } });
    expect((await fetch(right)).status).toBe(200);
    expect((await fetch(await createDelivery("image", { url, verificationKey: "another" }))).status).toBe(
      401,
    );
    expect((await post(url, "{}")).status).toBe(401);
    expect((await fetch(url)).status).toBe(405);
    const said = await end(program);
    expect(said).toMatchObject({ exitCode: 0, signal: null, stderr: "" });
    const lines = said.stdout.replaceAll(/^\d\d:\d\d:\d\d {2}/gm, "").replaceAll(/ {2,}/g, "  ");
    expect(lines.split("\n")).toEqual([
      `listening on ${url}; Ctrl-C ends it`,
      "#1 handshake  passed  as form",
      expect.stringMatching(/^#2 handshake {2}refused 401 {2}as json: /),
      '#3 delivery  accepted  signature right  text  sender 7  conversation 1  "Olá"',
      '#4 delivery  refused 401  signature wrong  image  sender 7  conversation 1  "https://files.example/1.png"',
      expect.stringContaining("not the signature of this body"),
      "#5 delivery  refused 401  signature missing  unknown",
      expect.stringContaining("X-Hub-Signature-256 is missing"),
      "#6 request  refused 405  GET /: this endpoint takes POST only",
      "",
    ]);
    expect(said.stdout).not.toContain("\u001b");
  });

  it("marks what looks like this package's own handshake, and not that of the service", async () => {
    const { program, url } = await listen("--json");
    expect(await diagnoseHandshake({ url, verificationKey: KEY })).toMatchObject({ passed: true });
    await fetch(createHandshake({ url, verificationKey: KEY }));
    const { stdout } = await end(program);
    const handshakes = readJsonLines(stdout).filter(({ type }) => type === "handshake");
    expect(handshakes.map(({ looksLikePreflight }) => looksLikePreflight)).toEqual([true, true, false]);

    const people = await listen();
    expect(await diagnoseHandshake({ url: people.url, verificationKey: KEY })).toMatchObject({
      passed: true,
    });
    expect((await end(people.program)).stdout).toMatch(/passed {2}as form {2}\(looks like the preflight/);
  });

  it("forwards what is accepted, byte for byte, with its headers and without those of the connection", async () => {
    const receiver = await startReceiver();
    const { program, url } = await listen(
      "--forward",
      `${receiver.url}?token=secret-of-the-target`,
      "--json",
    );
    const body = '{ "type":"text",\t"conv_id":9007199254740993, "sender_id":"7","text":"ol\\u00e1 \\/" }';
    const delivery = await createDelivery("text", { url, verificationKey: KEY, body, flowNs: "f7" });
    delivery.headers.set("x-other", "kept");
    expect((await fetch(delivery)).status).toBe(200);
    const forwarded = await program.waitForJson<Line>(({ type }) => type === "forward");
    expect(forwarded).toMatchObject({ id: 1, status: 200, reason: "", url: `${receiver.url}?token=***` });
    const [got] = receiver.received;
    expect(got?.body.toString("utf8")).toBe(body);
    expect(got?.headers).toMatchObject({ "x-flow-ns": "f7", "x-action": "messages", "x-other": "kept" });
    expect(got?.headers["x-hub-signature-256"]).toBe(delivery.headers.get("x-hub-signature-256"));
    const seen = await program.waitForJson<Line>(({ type }) => type === "delivery");
    expect(seen).toMatchObject({ conversation: "9007199254740993", signature: "right", body });
    const wrong = await createDelivery("text", { url, verificationKey: "another" });
    expect((await fetch(wrong)).status).toBe(401);
    const { stdout, exitCode } = await end(program);
    expect(exitCode).toBe(0);
    expect(receiver.received).toHaveLength(1);
    expect(readJsonLines(stdout).map(({ type }) => type)).toEqual([
      "listening",
      "delivery",
      "forward",
      "delivery",
    ]);
    expect(findSecrets(stdout, [KEY, "secret-of-the-target"])).toEqual([]);
  });

  it("acknowledges what its target does not take, tells why, and keeps the order of a conversation", async () => {
    const receiver = await startReceiver();
    receiver.answerWith(500);
    const { program, url } = await listen("--forward", receiver.url, "--json");
    for (const text of ["one", "two", "three"]) {
      const delivery = await createDelivery("text", { url, verificationKey: KEY, message: { text } });
      expect((await fetch(delivery)).status).toBe(200);
    }
    await program.waitForJson(({ type, id }) => type === "forward" && id === 3);
    const forwards = readJsonLines(program.stdout()).filter(({ type }) => type === "forward");
    expect(forwards.map(({ id, status }) => [id, status])).toEqual([
      [1, 500],
      [2, 500],
      [3, 500],
    ]);
    const texts = receiver.received.map(({ body }) => (JSON.parse(body.toString()) as { text: string }).text);
    expect(texts).toEqual(["one", "two", "three"]);
    await receiver.close();
    expect((await fetch(await createDelivery("text", { url, verificationKey: KEY }))).status).toBe(200);
    const failed = await program.waitForJson<Line>(({ type, id }) => type === "forward" && id === 4);
    expect(failed).toMatchObject({ status: null, reason: expect.stringContaining("ECONNREFUSED") });
    await end(program);
  });

  it("ends at Ctrl-C while its target does not answer", async () => {
    const deaf = await startServer(() => undefined);
    const { program, url } = await listen("--forward", deaf.url);
    await fetch(await createDelivery("text", { url, verificationKey: KEY }));
    await expect.poll(() => deaf.requests.length).toBe(1);
    expect(await end(program)).toMatchObject({ exitCode: 0, signal: null });
  });

  it("answers one path only if it is told to, and shows headers and body with --verbose", async () => {
    const { program, url } = await listen("--path", "/hooks/apichat", "--verbose");
    expect(new URL(url).pathname).toBe("/hooks/apichat");
    expect((await post(new URL("/other?token=secret-of-a-query", url).href, "")).status).toBe(404);
    const delivery = await createDelivery("text", { url, verificationKey: KEY });
    delivery.headers.set("authorization", "Bearer secret-of-a-header");
    const body = await delivery.clone().text();
    await fetch(delivery);
    const { stdout } = await end(program);
    expect(stdout).toMatch(/#1 request {4}refused 404 {2}POST \/other\?token=\*\*\*: nothing is here/);
    expect(stdout).toMatch(/\n +x-hub-signature-256: sha256=[0-9a-f]{64}\n/);
    expect(stdout).toMatch(/\n +authorization: \*\*\*\n/);
    expect(stdout).toContain(`${" ".repeat(10)}${body}\n`);
    expect(stdout).not.toContain("secret-of");
  });

  it("lets nothing from the wire drive the terminal, as text and as JSON", async () => {
    const text = "\u001b]0;owned\u0007\u009b2J\u202e\r\nlistening on http://evil.example";
    for (const parameters of [["--verbose"], ["--json"]]) {
      const { program, url } = await listen(...parameters);
      const message = { text, sender_id: text };
      await fetch(await createDelivery("text", { url, verificationKey: KEY, message }));
      await fetch(await createDelivery("text", { url, verificationKey: "another", message }));
      await post(`${url}${encodeURI("\u001b")}`, text);
      const { stdout } = await end(program);
      expect(stdout.replaceAll("\n", "")).not.toMatch(/[\p{Cc}\p{Bidi_Control}]/u);
      expect(stdout).toContain("\\u001b]0;owned");
      expect(stdout.match(/^listening|"listening"/gm)).toHaveLength(1);
    }
  });

  it("prints no key, also when a handshake with misspelt names brings one", async () => {
    const { program, url } = await listen("--json");
    const dotted = new URLSearchParams({
      "hub.mode": "subscribe",
      "hub.verify_token": KEY,
      "hub.challenge": "c",
    });
    expect((await post(url, dotted.toString())).status).toBe(401);
    await fetch(createHandshake({ url, verificationKey: KEY, encoding: "query" }));
    await fetch(createHandshake({ url, verificationKey: `${KEY}x` }));
    const { stdout, stderr } = await end(program);
    expect(readJsonLines(stdout)).toHaveLength(4);
    expect(findSecrets(stdout + stderr, [KEY])).toEqual([]);
  });
});

describe("apichat listen, used wrongly", () => {
  it("ends with 2 and says how to fix it", async () => {
    const environment = { APICHAT_VERIFICATION_KEY: KEY };
    const runListen = (...parameters: string[]) =>
      startProgram(["listen", ...parameters], { environment }).ended;
    const noKey = await run("listen");
    expect(noKey).toMatchObject({ exitCode: 2, stdout: "" });
    expect(noKey.stderr).toContain("APICHAT_VERIFICATION_KEY");
    const wrong: [string[], RegExp][] = [
      [["--port", "70000"], /0 to 65535/],
      [["--forward", "localhost:3000"], /absolute http or https URL/],
      [["--path", "hooks"], /must start with "\/"/],
    ];
    for (const [parameters, reason] of wrong) {
      const said = await runListen(...parameters);
      expect(said).toMatchObject({ exitCode: 2, stdout: "" });
      expect(said.stderr).toMatch(reason);
    }
  });

  it("ends with 2 if it would forward to itself, however that is spelt", async () => {
    const port = await freePort();
    for (const target of [`127.0.0.1:${port}/hook`, `localhost:${port}`]) {
      const said = await startProgram(
        ["listen", "--port", String(port), "--forward", `http://${target}?token=secret-of-the-target`],
        { environment: { APICHAT_VERIFICATION_KEY: KEY } },
      ).ended;
      expect(said).toMatchObject({ exitCode: 2, stdout: "" });
      expect(said.stderr).toMatch(/^error: --forward: must be the URL of your own program, .*listens itself/);
      expect(said.stderr).not.toContain("secret-of-the-target");
    }
  });

  it("ends with 1 if it cannot listen", async () => {
    const { port } = await startServer();
    const said = await startProgram(["listen", "--port", String(port)], {
      environment: { APICHAT_VERIFICATION_KEY: KEY },
    }).ended;
    expect(said.exitCode).toBe(1);
    expect(said.stderr).toContain(`port ${port}: the port is taken by another program`);
  });

  it("has examples and exit codes in its help", async () => {
    const { stdout, exitCode } = await run("listen", "--help");
    expect(exitCode).toBe(0);
    expect(stdout).toMatch(/Examples:\n.*\$ apichat listen[^]*Exit code: 0 ended/);
  });
});
