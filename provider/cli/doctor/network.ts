import { request } from "undici";
import { diagnoseHandshake } from "../../diagnosis/index.js";
import { ApiChatError, renderFailure } from "../../errors/index.js";
import { isClearText } from "../../lib/checks.js";
import { connectionCode, PROXY_VARIABLES, sharedDispatcher } from "../../lib/post.js";
import { formatUrl, isSameBot, isSameUrl } from "../../lib/url.js";
import { USER_AGENT } from "../../lib/version.js";
import { ADDRESSES } from "../credential-options.js";
import {
  type Check,
  type Facts,
  failed,
  type Finding,
  ok,
  skipped,
  type Surroundings,
  warning,
} from "./check.js";

/** Checks the proxies of the environment, which calls to the service go through. */
export const checkProxies: Check = ({ environment }) => {
  const set = PROXY_VARIABLES.filter((name) => environment[name]);
  if (set.length === 0) return ok("none");
  const wrong = set.find((name) => URL.parse(environment[name] ?? "") === null);
  if (wrong !== undefined) return failed(`${wrong} is not a URL`, "for example http://proxy.example:3128");
  const list = set.map((name) => `${name} ${formatUrl(environment[name] ?? "")}`).join(", ");
  const except = environment["no_proxy"] ?? environment["NO_PROXY"] ?? "";
  return ok(`${list}${except === "" ? "" : `; not for ${except}`}`);
};

/** Checks the registration interface: with an API key whether it accepts it, else only whether it responds. */
export const checkBaseUrl: Check = async (facts) => {
  const baseUrl = await facts.baseUrl;
  if (baseUrl === undefined) return notGiven("baseUrl");
  const apiKey = await facts.credentials.findSecret("apiKey");
  const finding =
    apiKey === undefined
      ? await probe(baseUrl, "not checked further: no API key", facts)
      : await describeRegistration(baseUrl, facts);
  if (finding.status !== "ok" || !isClearText(baseUrl)) return finding;
  return warning(`${finding.text}, without encryption: the API key can be read on the way`, "use https");
};

/** Checks the webhook URL: with a verification key its handshake, else only whether it responds. */
export const checkWebhookUrl: Check = async (facts) => {
  const { webhookUrl: url, credentials } = facts;
  if (url === undefined) return skipped("give it with --webhook-url");
  const verificationKey = await credentials.findSecret("verificationKey");
  const finding =
    verificationKey === undefined
      ? await probe(url, "not checked further: no verification key", facts)
      : await performHandshake({ url, verificationKey }, facts);
  const registered = (await findRegistration(facts))?.webhookUrl;
  if (!registered || isSameUrl(registered, url)) return finding;
  return addOther(finding, registered, `apichat webhook set registers ${formatUrl(url)}`);
};

/** Checks the bot URL. Sends no message, because the contact would see it. */
export const checkBotUrl: Check = async (facts) => {
  const botUrl = await facts.credentials.findAddress("botUrl");
  if (botUrl === undefined) return notGiven("botUrl");
  const finding = await probe(botUrl, "no message was sent", facts);
  const registered = (await findRegistration(facts))?.botUrl;
  if (!registered || isSameBot(registered, botUrl)) return finding;
  return addOther(finding, registered, `use ${formatUrl(registered)} if the base URL is right`);
};

const notGiven = (kind: "baseUrl" | "botUrl"): Finding =>
  skipped(`give it with ${ADDRESSES[kind].flag} or ${ADDRESSES[kind].variable}`);

/** For a comparison: a failure is reported only by the check of the base URL. */
const findRegistration = ({ registration }: Facts) => registration.catch(() => undefined);

/** Adds that a different URL is registered; a failure stays a failure. */
const addOther = (finding: Finding, registered: string, hint: string): Finding =>
  finding.status === "failed"
    ? finding
    : warning(`${finding.text}; a different one is registered: ${formatUrl(registered)}`, hint);

async function describeRegistration(baseUrl: string, facts: Facts): Promise<Finding> {
  try {
    const registration = await facts.registration;
    const place = `${formatUrl(baseUrl)} accepts the API key`;
    if (registration === undefined) return ok(`${place}; no webhook is registered`);
    return ok(`${place}; ${formatUrl(registration.webhookUrl)} is registered, ${registration.status}`);
  } catch (error) {
    if (!(error instanceof ApiChatError)) throw error;
    return failed(renderFailure(error, "doctor"), HINTS[error.code] ?? "check the base URL and the API key");
  }
}

const HINTS: Partial<Record<ApiChatError["code"], string>> = {
  unauthorized: "check the API key, and whether it belongs to this base URL",
  unavailable: "check the base URL, the network, the proxy and the firewall",
  protocol: "check the base URL: what responds there is not the registration interface",
};

async function performHandshake(
  endpoint: { url: string; verificationKey: string },
  { limitMs, signal, baseUrl }: Facts,
): Promise<Finding> {
  const serviceUrl = await baseUrl;
  const options = serviceUrl === undefined ? {} : { serviceUrl };
  const diagnosis = await diagnoseHandshake({ ...endpoint, limitMs, signal, ...options });
  const url = formatUrl(endpoint.url);
  if (!diagnosis.passed) return failed(`${url}: ${diagnosis.reason}`, diagnosis.hint);
  const text = `${url} answers the handshake`;
  if (diagnosis.warnings.length === 0) return ok(text);
  return warning(
    `${text}; ${diagnosis.warnings.map((one) => one.text).join("; ")}`,
    "apichat verify shows more",
  );
}

/** Whether anything there responds to HTTP. Only the status 404 is conclusive, because this is a GET and the interfaces accept POST. */
async function probe(url: string, remark: string, { limitMs, signal }: Surroundings): Promise<Finding> {
  const limit = AbortSignal.timeout(limitMs);
  try {
    const answer = await request(url, {
      headers: { "user-agent": USER_AGENT },
      dispatcher: sharedDispatcher(),
      signal: AbortSignal.any([signal, limit]),
    });
    await answer.body.dump();
    const text = `${formatUrl(url)} answers (HTTP ${answer.statusCode} to GET); ${remark}`;
    return answer.statusCode === 404 ? warning(text, "check the URL: nothing may be there") : ok(text);
  } catch (error) {
    if (signal.aborted) throw error;
    const code = connectionCode(error) || (error instanceof Error ? error.name : "unknown error");
    const why = limit.aborted ? `no answer in ${limitMs / 1000} s` : `no answer: ${code}`;
    return failed(
      `${formatUrl(url)}: ${why}`,
      "check the URL, whether its server runs, and the proxy and firewall",
    );
  }
}
