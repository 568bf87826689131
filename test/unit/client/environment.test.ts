import { expect, onTestFinished, test, vi } from "vitest";
import { freePort, startServer, startTcpServer } from "../../support/http.js";
import { API_KEY, answerOk, VERIFICATION_KEY } from "./harness.js";

async function startRejectingProxy(): Promise<string> {
  return (
    await startTcpServer((socket) => socket.once("data", () => socket.end("HTTP/1.1 403 Forbidden\r\n\r\n")))
  ).url;
}

/**
 * Loads the modules again, because they create the connection pool only once, at the first call, and the pool
 * must use this proxy.
 */
async function importWithProxy(proxy: Record<string, string | undefined>) {
  for (const name of ["http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "no_proxy", "NO_PROXY"])
    vi.stubEnv(name, proxy[name]);
  onTestFinished(() => void vi.unstubAllEnvs());
  vi.resetModules();
  const [{ RegistrationClient }, { diagnoseHandshake }] = await Promise.all([
    import("../../../provider/client/index.js"),
    import("../../../provider/diagnosis/index.js"),
  ]);
  return { RegistrationClient, diagnoseHandshake };
}

test.each<[string, RegExp, () => Promise<string>]>([
  ["sends a 403", /the proxy http:\S+ fails: Proxy response \(403\).* \(ERR_PROXY\)/, startRejectingProxy],
  [
    "does not listen",
    /the proxy http:\S+ fails: connect ECONNREFUSED \S+ \(ERR_PROXY\)/,
    async () => `http://127.0.0.1:${await freePort()}`,
  ],
])("the error names the proxy, not the target, as the cause if the proxy %s", async (_, named, start) => {
  const HTTPS_PROXY = await start();
  const { RegistrationClient, diagnoseHandshake } = await importWithProxy({ HTTPS_PROXY });
  const baseUrl = "https://service.example/acme";
  const client = new RegistrationClient({ baseUrl, apiKey: API_KEY, requestSeconds: 1 });
  await expect(client.getWebhook()).rejects.toThrow(named);
  await expect(client.getWebhook()).rejects.toMatchObject({ hints: [{ id: "check_proxy" }] });
  const diagnosis = await diagnoseHandshake({ url: baseUrl, verificationKey: VERIFICATION_KEY });
  expect(diagnosis).toMatchObject({ cause: "proxy_failed", reason: expect.stringMatching(named) as string });
});

const startOk = () => startServer((_, response) => answerOk(response));

test.each<[variables: string[], isUsed: boolean]>([
  [["HTTP_PROXY"], true],
  [["http_proxy"], true],
  [["HTTP_PROXY", "NO_PROXY"], false],
  [["HTTPS_PROXY"], false],
])("with %j set, a call to an http URL uses the proxy: %s", async (variables, isUsed) => {
  const [service, proxy] = [await startOk(), await startOk()];
  const values = variables.map((name) => [name, name === "NO_PROXY" ? "127.0.0.1" : proxy.url]);
  const { RegistrationClient } = await importWithProxy(Object.fromEntries(values) as Record<string, string>);
  const client = new RegistrationClient({ baseUrl: `${service.url}/acme`, apiKey: API_KEY });
  expect(await client.getWebhook()).toMatchObject({ status: "verified" });
  // A proxy receives the whole URL. This proxy responds itself, so the service receives nothing.
  expect(proxy.requests.map(({ path }) => path)).toEqual(
    isUsed ? [`${service.url}/acme?action=get-webhook`] : [],
  );
  expect(service.requests).toHaveLength(isUsed ? 0 : 1);
});
