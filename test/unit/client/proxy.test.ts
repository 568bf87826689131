import { createServer, request } from "node:http";
import { connect, type AddressInfo } from "node:net";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { API_KEY, answerOk, startServer } from "./harness.js";

/** A forward proxy: requests in absolute form, and tunnels. Gives its origin and what went through it. */
async function startProxy(): Promise<{ origin: string; passed: string[] }> {
  const passed: string[] = [];
  const proxy = createServer((incoming, response) => {
    passed.push(`${incoming.method} ${incoming.url}`);
    const { method, headers, url = "" } = incoming;
    const onward = request(url, { method, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    incoming.pipe(onward);
  });
  proxy.on("connect", (incoming, client) => {
    passed.push(`CONNECT ${incoming.url}`);
    const { hostname, port } = new URL(`http://${incoming.url}`);
    const target = connect(Number(port), hostname, () => {
      client.write("HTTP/1.1 200 OK\r\n\r\n");
      target.pipe(client).pipe(target);
    });
    target.on("error", () => client.destroy());
    client.on("error", () => target.destroy());
  });
  await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    proxy.closeAllConnections();
    proxy.close();
  });
  return { origin: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`, passed };
}

/** A client of a process that begins with this environment: the pool is made once, at the first call. */
async function clientIn(environment: Record<string, string>, baseUrl: string) {
  for (const name of ["http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "no_proxy", "NO_PROXY"]) {
    vi.stubEnv(name, environment[name]);
  }
  onTestFinished(() => void vi.unstubAllEnvs());
  vi.resetModules();
  const { RegistrationClient } = await import("../../../provider/client/index.js");
  return new RegistrationClient({ baseUrl, apiKey: API_KEY, requestSeconds: 3 });
}

describe("the environment's proxy", () => {
  test.each(["HTTP_PROXY", "http_proxy"])("is used if %s names it", async (name) => {
    const { origin, received } = await startServer((_, response) => answerOk(response));
    const proxy = await startProxy();
    const client = await clientIn({ [name]: proxy.origin }, `${origin}/acme`);
    expect(await client.getWebhook()).toMatchObject({ status: "verified" });
    expect(proxy.passed).toHaveLength(1);
    expect(proxy.passed[0]).toContain(new URL(origin).host);
    expect(received).toHaveLength(1);
  });

  test("is not used for a host in NO_PROXY", async () => {
    const { origin } = await startServer((_, response) => answerOk(response));
    const proxy = await startProxy();
    const client = await clientIn({ HTTP_PROXY: proxy.origin, NO_PROXY: "127.0.0.1" }, origin);
    expect(await client.getWebhook()).toMatchObject({ status: "verified" });
    expect(proxy.passed).toEqual([]);
  });

  test("is not used for http if only HTTPS_PROXY names one", async () => {
    const { origin } = await startServer((_, response) => answerOk(response));
    const proxy = await startProxy();
    const client = await clientIn({ HTTPS_PROXY: proxy.origin }, origin);
    expect(await client.getWebhook()).toMatchObject({ status: "verified" });
    expect(proxy.passed).toEqual([]);
  });
});
