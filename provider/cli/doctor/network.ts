import { diagnoseHandshake } from "../../diagnosis/index.js";
import { ApiChatError, commandLine, renderFailure, renderHints } from "../../errors/index.js";
import { describeConnectionError, sharedDispatcher } from "../../lib/post.js";
import { formatUrl, isSameUrl } from "../../lib/url.js";
import { USER_AGENT } from "../../lib/version.js";
import { ADDRESSES } from "../credentials.js";
import { failed, LIMIT_MS, ok, skipped, warning } from "./check.js";
import type { DoctorCheck, DoctorFacts, Finding } from "./check.js";

/** Checks the registration interface: with an API key whether it accepts it, else only whether it responds. */
export const checkBaseUrl: DoctorCheck = async (facts) => {
  const { baseUrl } = facts;
  const { flag, variable } = ADDRESSES.baseUrl;
  if (baseUrl === undefined) return skipped(`pass ${flag} or set ${variable}`);
  const apiKey = await facts.credentials.findSecret("apiKey");
  if (apiKey === undefined) {
    return probe(baseUrl, "set APICHAT_API_KEY to check further", facts);
  }
  try {
    const registration = await facts.registration;
    const place = `${formatUrl(baseUrl)} accepts the API key`;
    if (registration === undefined) return ok(`${place}; no webhook is registered`);
    return ok(`${place}; ${formatUrl(registration.webhookUrl)} is registered, ${registration.status}`);
  } catch (error) {
    if (!(error instanceof ApiChatError)) throw error;
    const hint = renderHints(error, "doctor") || "check the base URL, the API key, and the network between";
    return failed(renderFailure(error.with({ hints: [] }), "doctor"), hint);
  }
};

/** Checks the webhook URL: with a verification key its handshake, else only whether it responds. */
export const checkWebhookUrl: DoctorCheck = async (facts) => {
  const { webhookUrl: url, credentials } = facts;
  if (url === undefined) return skipped("pass --webhook-url");
  const verificationKey = await credentials.findSecret("verificationKey");
  const finding =
    verificationKey === undefined
      ? await probe(url, "not checked further: no verification key", facts)
      : await checkHandshake({ url, verificationKey }, facts);
  // The check of the base URL reports why the registration cannot be read.
  const registered = (await facts.registration.catch(() => undefined))?.webhookUrl;
  if (!registered || isSameUrl(registered, url) || finding.status === "failed") return finding;
  const text = `${finding.text}; a different one is registered: ${formatUrl(registered)}`;
  return warning(text, `${commandLine()} webhook set registers ${formatUrl(url)}`);
};

async function checkHandshake(
  endpoint: { url: string; verificationKey: string },
  { signal, baseUrl: serviceUrl }: DoctorFacts,
): Promise<Finding> {
  const options = serviceUrl === undefined ? {} : { serviceUrl };
  const diagnosis = await diagnoseHandshake({ ...endpoint, limitMs: LIMIT_MS, signal, ...options });
  const url = formatUrl(endpoint.url);
  if (!diagnosis.passed) return failed(`${url}: ${diagnosis.reason}`, diagnosis.hint);
  const remarks = diagnosis.warnings.map(({ text }) => text);
  const text = [`${url} answers the handshake`, ...remarks].join("; ");
  return remarks.length === 0 ? ok(text) : warning(text, `${commandLine()} verify shows more`);
}

/** Whether anything there responds to HTTP. Only a 404 is conclusive: this is a GET, and the interfaces accept POST. */
async function probe(url: string, remark: string, { signal }: DoctorFacts): Promise<Finding> {
  const limit = AbortSignal.timeout(LIMIT_MS);
  try {
    const { origin, pathname, search } = new URL(url);
    const { statusCode, body } = await sharedDispatcher().request({
      method: "GET",
      origin,
      path: pathname + search,
      headers: { "user-agent": USER_AGENT },
      signal: AbortSignal.any([signal, limit]),
    });
    await body.dump();
    const text = `${formatUrl(url)} answers (HTTP ${statusCode} to GET); ${remark}`;
    return statusCode === 404 ? warning(text, "check the URL: nothing may be there") : ok(text);
  } catch (error) {
    if (signal.aborted) throw error;
    const why = limit.aborted ? "timeout" : describeConnectionError(error);
    const hint =
      "check protocol, host and port of the URL, whether its server runs, and the proxy and firewall";
    return failed(`${formatUrl(url)}: no answer: ${why}`, hint);
  }
}
