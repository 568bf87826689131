import { readFileSync } from "node:fs";
import { createServer as createHttpsServer } from "node:https";
import type { AddressInfo } from "node:net";
import { getCACertificates, setDefaultCACertificates } from "node:tls";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { HandshakeCause } from "../../../provider/diagnosis/index.js";
import { afterTests, closedPort, startDeafListener, startServer, startTcpServer } from "../client/harness.js";
import { diagnose, diagnoseFailure, respond } from "./harness.js";

const LABEL_TOO_LONG_FOR_DNS = "x".repeat(64);

describe.concurrent("without a connection", () => {
  test("a name that does not resolve is told, and that there is no address", async () => {
    const diagnosis = await diagnoseFailure(`http://${LABEL_TOO_LONG_FOR_DNS}.invalid/hook`);
    expect(diagnosis).toMatchObject({
      cause: "name_not_resolved",
      transcript: { rule: "unreachable", addresses: [] },
    });
    expect(diagnosis.reason).toContain("ENOTFOUND");
    expect(diagnosis.hint).toContain("DNS");
  });

  test("a port on which nothing listens refuses", async () => {
    const diagnosis = await diagnoseFailure(`http://127.0.0.1:${await closedPort()}/`);
    expect(diagnosis).toMatchObject({ cause: "connection_refused", transcript: { rule: "unreachable" } });
    expect(diagnosis.reason).toContain("ECONNREFUSED");
  });

  test("the time limit while connecting is told from silence", async () => {
    const diagnosis = await diagnoseFailure(await startDeafListener(), { limitMs: 300 });
    expect(diagnosis).toMatchObject({ cause: "connect_timeout", transcript: { rule: "unreachable" } });
    expect(diagnosis.reason).toContain("no connection within 0.3 s");
  });
});

describe.concurrent("with a connection and no whole answer", () => {
  test("silence is told", async () => {
    const { origin } = await startServer(() => undefined);
    const diagnosis = await diagnoseFailure(origin, { limitMs: 1500 });
    expect(diagnosis).toMatchObject({ cause: "silent", transcript: { rule: "no_answer" } });
    expect(diagnosis.reason).toContain("no answer within 1.5 s");
  });

  test("an answer that never ends is told from silence", async () => {
    const { origin } = await startServer((_, response) => void response.writeHead(200).write("abc"));
    const diagnosis = await diagnoseFailure(origin, { limitMs: 1500 });
    expect(diagnosis).toMatchObject({ cause: "answer_unfinished", transcript: { rule: "no_answer" } });
  });

  test("a connection that is closed before the answer is told", async () => {
    const { origin } = await startServer((_, response) => response.socket?.destroy());
    expect(await diagnoseFailure(origin)).toMatchObject({
      cause: "closed_early",
      transcript: { rule: "unreachable" },
    });
  });

  test.each([
    ["with a length", "HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nabc"],
    ["in chunks", "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n"],
    ["in its headers", "HTTP/1.1 200 OK\r\ncontent-le"],
  ])("an answer that breaks off %s is closed early too", async (_, bytes) => {
    const { url: origin } = await startTcpServer((socket) => void socket.on("data", () => socket.end(bytes)));
    expect((await diagnoseFailure(origin)).cause).toBe("closed_early");
  });

  test("something else than HTTP is told", async () => {
    const { url: origin } = await startTcpServer((socket) => void socket.end("SSH-2.0-OpenSSH_9.2\r\n"));
    expect((await diagnoseFailure(origin)).cause).toBe("not_http");
  });
});

const certificate = (name: string): string =>
  readFileSync(new URL(`../../fixtures/certificates/${name}`, import.meta.url), "utf8");

/** An HTTPS server with one of the test certificates. */
async function startHttps(name: string): Promise<string> {
  const options = { key: certificate("server.key"), cert: certificate(`${name}.crt`) };
  const server = createHttpsServer(options, (_, response) => void response.writeHead(404).end());
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  afterTests(() => server.close().closeAllConnections());
  return `https://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}

describe("of a certificate", () => {
  const trusted = getCACertificates();
  beforeAll(() => setDefaultCACertificates([...trusted, certificate("authority.crt")]));
  afterAll(() => setDefaultCACertificates(trusted));

  test.each<[string, HandshakeCause, RegExp]>([
    ["self-signed", "tls_self_signed", /is self-signed/],
    ["wrong-host", "tls_wrong_host", /for another host name/],
    ["expired", "tls_expired", /has expired/],
  ])("that is %s it is told", async (name, cause, finding) => {
    const diagnosis = await diagnoseFailure(await startHttps(name));
    expect(diagnosis).toMatchObject({ cause, transcript: { rule: "tls" } });
    expect(diagnosis.reason).toMatch(finding);
    // Node's own advice is for whoever runs Node.
    expect(JSON.stringify(diagnosis)).not.toMatch(/node\.js|--use-system-ca/i);
  });

  test("that is good nothing is said", async () => {
    expect((await diagnoseFailure(await startHttps("good"))).cause).toBe("not_found");
  });

  test("whose issuer is not trusted it is told", async () => {
    setDefaultCACertificates(trusted);
    const diagnosis = await diagnoseFailure(await startHttps("good"));
    expect(diagnosis).toMatchObject({ cause: "tls_untrusted", transcript: { rule: "tls" } });
    expect(JSON.stringify(diagnosis)).not.toMatch(/node\.js|--use-system-ca/i);
  });

  test("that there is none, behind an https URL, it is told", async () => {
    const { origin } = await startServer(respond(200));
    const diagnosis = await diagnoseFailure(origin.replace("http:", "https:"));
    expect(diagnosis).toMatchObject({ cause: "tls_failed", transcript: { rule: "tls" } });
    expect(diagnosis.reason).toBe("form: it does not speak TLS on this port (ERR_SSL_WRONG_VERSION_NUMBER)");
    expect(diagnosis.hint).toMatch(
      /^if the endpoint speaks no TLS on this port, use http:\/\/ or its TLS port/,
    );
  });

  test("is agreed on neither, is told without OpenSSL's internals", async () => {
    const fatalHandshakeFailure = Buffer.from("15030300020228", "hex");
    const { url: origin } = await startTcpServer(
      (socket) => void socket.on("data", () => socket.end(fatalHandshakeFailure)),
    );
    const { cause, reason } = await diagnoseFailure(origin.replace("http:", "https:"));
    expect(cause).toBe("tls_failed");
    // The words before "alert" are others in other releases of OpenSSL.
    expect(reason).toMatch(/^form: ERR_SSL_[\w/]+ [\w/ ]*alert handshake failure$/);
  });
});

describe("a loopback or private address", () => {
  const serviceUrl = "https://93.184.216.34/";

  test.each(["http://127.0.0.1:9/", "http://localhost:9/", "http://10.1.2.3/", "http://[fd00::1]/"])(
    "fails a public service at once: %s",
    async (url) => {
      const diagnosis = await diagnoseFailure(url, { serviceUrl });
      expect(diagnosis).toMatchObject({
        cause: "private_address",
        transcript: { rule: "private_address", rounds: 0, steps: [] },
      });
      expect(diagnosis.hint).toContain("tunnel");
    },
  );

  test("is a warning where nothing is known of the service", async () => {
    const { origin } = await startServer(respond(404));
    const { warnings } = await diagnose(origin);
    expect(warnings.map(({ code }) => code)).toEqual(["private_address"]);
    expect(warnings[0]?.text).toContain("127.0.0.1 is a loopback or private address");
  });

  test("is nothing to a service that is private itself", async () => {
    const { origin } = await startServer(respond(404));
    expect((await diagnose(origin, { serviceUrl: "http://127.0.0.1:9/" })).warnings).toEqual([]);
  });
});

test("a signal that fires ends it with its reason, at once", async () => {
  const { promise: arrived, resolve } = Promise.withResolvers<void>();
  const { origin } = await startServer(() => resolve());
  const controller = new AbortController();
  const diagnosis = diagnose(origin, { limitMs: 60_000, signal: controller.signal });
  await arrived;
  const reason = new Error("enough");
  controller.abort(reason);
  await expect(diagnosis).rejects.toBe(reason);
});
