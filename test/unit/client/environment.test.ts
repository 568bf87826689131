import { request } from "node:http";
import { expect, onTestFinished, test, vi } from "vitest";
import { startListener, startServer } from "../../support/http.js";
import { API_KEY, answerOk } from "./harness.js";

/** A forward proxy for requests in absolute form. Gives its URL and what went through it. */
async function startProxy(): Promise<{ url: string; passed: string[] }> {
  const passed: string[] = [];
  const { url } = await startListener((incoming, response) => {
    const { method, headers, url: target = "" } = incoming;
    passed.push(target);
    const onward = request(target, { method, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    incoming.pipe(onward);
  });
  return { url, passed };
}

test.each<[variables: string[], isUsed: boolean]>([
  [["HTTP_PROXY"], true],
  [["http_proxy"], true],
  [["HTTP_PROXY", "NO_PROXY"], false],
  [["HTTPS_PROXY"], false],
])("with %j in the environment the proxy is used for http: %s", async (variables, isUsed) => {
  const { url, requests } = await startServer((_, response) => answerOk(response));
  const proxy = await startProxy();
  for (const name of ["http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "no_proxy", "NO_PROXY"]) {
    const value = name === "NO_PROXY" ? "127.0.0.1" : proxy.url;
    vi.stubEnv(name, variables.includes(name) ? value : undefined);
  }
  onTestFinished(() => void vi.unstubAllEnvs());
  // The pool of a process is made once, at its first call.
  vi.resetModules();
  const { RegistrationClient } = await import("../../../provider/client/index.js");
  const client = new RegistrationClient({ baseUrl: `${url}/acme`, apiKey: API_KEY });
  expect(await client.getWebhook()).toMatchObject({ status: "verified" });
  expect(proxy.passed).toEqual(isUsed ? [`${url}/acme?action=get-webhook`] : []);
  expect(requests).toHaveLength(1);
});
