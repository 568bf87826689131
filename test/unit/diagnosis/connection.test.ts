import { readFileSync } from "node:fs";
import type { Socket } from "node:net";
import { getCACertificates, setDefaultCACertificates } from "node:tls";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { HandshakeCause, HandshakeRule } from "../../../provider/diagnosis/index.js";
import { freePort, startDeafListener, startServer, startTcpServer } from "../../support/http.js";
import { diagnose, diagnoseFailure, respond } from "./harness.js";

const LABEL_TOO_LONG_FOR_DNS = "x".repeat(64);

const serve = async (answer: (socket: Socket) => unknown): Promise<string> =>
  (await startTcpServer(answer)).url;

const answerBytes = (bytes: string | Buffer): Promise<string> =>
  serve((socket) => socket.on("data", () => socket.end(bytes)));

test.concurrent.each<[HandshakeRule, HandshakeCause, RegExp, () => Promise<string>]>([
  ["unreachable", "name_not_resolved", /ENOTFOUND/, async () => `http://${LABEL_TOO_LONG_FOR_DNS}.invalid/`],
  ["unreachable", "connection_refused", /ECONNREFUSED/, async () => `http://127.0.0.1:${await freePort()}`],
  ["unreachable", "connect_timeout", /no connection within 1.5 s/, startDeafListener],
  ["no_answer", "silent", /no answer within 1.5 s/, async () => (await startServer(() => undefined)).url],
  [
    "no_answer",
    "answer_unfinished",
    /the answer did not end/,
    async () => (await startServer((_, response) => response.writeHead(200).write("abc"))).url,
  ],
  ["unreachable", "closed_early", /./, () => serve((socket) => socket.once("data", () => socket.destroy()))],
  [
    "unreachable",
    "closed_early",
    /before the answer is complete/,
    () => answerBytes("HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nabc"),
  ],
  ["unreachable", "closed_early", /before the answer/, () => answerBytes("HTTP/1.1 200 OK\r\ncontent-le")],
  ["unreachable", "not_http", /./, () => serve((socket) => socket.end("SSH-2.0-OpenSSH_9.2\r\n"))],
])("a failed connection gets the rule %s and the cause %s", async (rule, cause, reason, start) => {
  const diagnosis = await diagnoseFailure(await start(), { limitMs: 1500 });
  expect(diagnosis).toMatchObject({ cause, transcript: { rule } });
  expect(diagnosis.reason).toMatch(reason);
  expect(diagnosis.transcript.addresses).toHaveLength(cause === "name_not_resolved" ? 0 : 1);
});

test("if the port of an https URL does not respond, the hint mentions TLS", async () => {
  const url = (await serve(() => undefined)).replace("http:", "https:");
  const hint: unknown = expect.stringContaining("does not speak TLS");
  expect(await diagnoseFailure(url, { limitMs: 500 })).toMatchObject({ cause: "connect_timeout", hint });
});

const certificate = (name: string): string =>
  readFileSync(new URL(`../../fixtures/certificates/${name}`, import.meta.url), "utf8");

/** Starts an HTTPS server with one of the test certificates. */
const startHttps = async (name: string): Promise<string> => {
  const tls = { key: certificate("server.key"), cert: certificate(`${name}.crt`) };
  return (await startServer(respond(404), { tls })).url;
};

describe("a TLS connection", () => {
  const trusted = getCACertificates();
  beforeAll(() => setDefaultCACertificates([...trusted, certificate("authority.crt")]));
  afterAll(() => setDefaultCACertificates(trusted));

  test.each<[string, HandshakeCause, RegExp, (() => Promise<string>)?]>([
    ["a self-signed certificate", "tls_self_signed", /is self-signed/, () => startHttps("self-signed")],
    [
      "a certificate for a different host",
      "tls_wrong_host",
      /for a different host name/,
      () => startHttps("wrong-host"),
    ],
    ["an expired certificate", "tls_expired", /has expired/, () => startHttps("expired")],
    [
      "no TLS",
      "tls_not_spoken",
      /^form: the server does not speak TLS on this port \(ERR_SSL_WRONG_VERSION_NUMBER\)$/,
      async () => (await startServer()).url.replace("http:", "https:"),
    ],
    [
      "no common protocol",
      "tls_failed",
      // The words before "alert" differ between releases of OpenSSL.
      /^form: ERR_SSL_[\w/]+ [\w/ ]*alert handshake failure$/,
      async () => (await answerBytes(Buffer.from("15030300020228", "hex"))).replace("http:", "https:"),
    ],
    [
      "an untrusted issuer",
      "tls_untrusted",
      /issuer is not trusted/,
      () => {
        setDefaultCACertificates(trusted);
        return startHttps("good");
      },
    ],
  ])("with %s is diagnosed", async (_, cause, reason, start = () => startHttps("good")) => {
    const diagnosis = await diagnoseFailure(await start());
    expect(diagnosis).toMatchObject({ cause, transcript: { rule: "tls" } });
    expect(diagnosis.reason).toMatch(reason);
    // Node's error suggests options of Node, which do not help our users.
    expect(JSON.stringify(diagnosis)).not.toMatch(/node\.js|--use-system-ca/i);
  });

  test("with a valid certificate is not reported as a problem", async () => {
    setDefaultCACertificates([...trusted, certificate("authority.crt")]);
    expect((await diagnoseFailure(await startHttps("good"))).cause).toBe("not_found");
  });
});

describe("a loopback or private address", () => {
  test.each(["http://127.0.0.1:9/", "http://localhost:9/", "http://10.1.2.3/", "http://[fd00::1]/"])(
    "fails at once if the service is public: %s",
    async (url) => {
      const diagnosis = await diagnoseFailure(url, { serviceUrl: "https://93.184.216.34/" });
      expect(diagnosis).toMatchObject({
        cause: "private_address",
        transcript: { rule: "private_address", rounds: 0, steps: [] },
      });
    },
  );

  test("causes a warning if no service URL is passed, but none if the service is private too", async () => {
    const { url } = await startServer(respond(404));
    const { warnings } = await diagnose(url);
    expect(warnings.map(({ code }) => code)).toEqual(["private_address"]);
    expect(warnings[0]?.text).toContain("has a loopback or private address (127.0.0.1)");
    expect((await diagnose(url, { serviceUrl: "http://127.0.0.1:9/" })).warnings).toEqual([]);
  });
});

test("an abort ends a diagnosis at once, with the abort's reason", async () => {
  const arrived = Promise.withResolvers<void>();
  const { url } = await startServer(() => arrived.resolve());
  const controller = new AbortController();
  const diagnosis = diagnose(url, { limitMs: 60_000, signal: controller.signal });
  await arrived.promise;
  const reason = new Error("enough");
  controller.abort(reason);
  await expect(diagnosis).rejects.toBe(reason);
});
