import { request } from "undici";
import { diagnoseHandshake } from "../../diagnosis/index.js";
import { ApiChatError, renderFailure } from "../../errors/index.js";
import { isClearText } from "../../lib/checks.js";
import { connectionCode, PROXY_VARIABLES, sharedDispatcher } from "../../lib/post.js";
import { printUrl, isSameBot, isSameUrl } from "../../lib/url.js";
import { USER_AGENT } from "../../lib/version.js";
import { ADDRESSES } from "../credential-options.js";
import { type Check, failed, type Finding, ok, skipped, type Surroundings, warning } from "./check.js";
import { findBaseUrl } from "./configuration.js";
import { type Registration, RegistrationClient } from "../../client/registration-client.js";

/** The environment's proxies, which calls to the service go through. */
export const proxyCheck: Check = {
  name: "proxies",
  run: ({ environment }) => {
    const set = PROXY_VARIABLES.filter((name) => environment[name]);
    if (set.length === 0) return ok("none");
    const except = environment["no_proxy"] ?? environment["NO_PROXY"] ?? "";
    const wrong = set.find((name) => URL.parse(environment[name] ?? "") === null);
    if (wrong !== undefined)
      return failed(`${wrong} is no URL`, "write for example http://proxy.example:3128");
    const list = set.map((name) => `${name} ${printUrl(environment[name] ?? "")}`).join(", ");
    return ok(`${list}${except === "" ? "" : `; not for ${except}`}`);
  },
};

/** The registration interface: with the API key that it accepts it, else only that it answers. */
export const baseUrlCheck: Check = {
  name: "base URL",
  run: async (surroundings) => {
    const baseUrl = await findBaseUrl(surroundings);
    if (baseUrl === undefined) {
      return skipped(`give it with ${ADDRESSES.baseUrl.flag} or ${ADDRESSES.baseUrl.variable}`);
    }
    const apiKey = await surroundings.credentials.findSecret("apiKey");
    const finding =
      apiKey === undefined
        ? await probe(baseUrl, "not checked further: no API key", surroundings)
        : await getWebhook(baseUrl, surroundings);
    if (finding.status !== "ok" || !isClearText(baseUrl)) return finding;
    return warning(`${finding.text}, without encryption: the API key can be read on the way`, "use https");
  },
};

/** The webhook URL: with the verification key its handshake, else only that it answers. */
export const webhookUrlCheck: Check = {
  name: "webhook URL",
  run: async (surroundings) => {
    const { webhookUrl, credentials } = surroundings;
    if (webhookUrl === undefined) return skipped("give it with --webhook-url");
    const verificationKey = await credentials.findSecret("verificationKey");
    const finding =
      verificationKey === undefined
        ? await probe(webhookUrl, "not checked further: no verification key", surroundings)
        : await performHandshake({ url: webhookUrl, verificationKey }, surroundings);
    const { webhookUrl: registered } = (await findRegistration(surroundings)) ?? {};
    if (!registered || isSameUrl(registered, webhookUrl)) return finding;
    return addOther(finding, registered, `apichat webhook set registers ${printUrl(webhookUrl)}`);
  },
};

/** The bot URL. No message is sent: the contact would see it. */
export const botUrlCheck: Check = {
  name: "bot URL",
  run: async (surroundings) => {
    const botUrl = await surroundings.credentials.findAddress("botUrl");
    if (botUrl === undefined) {
      return skipped(`give it with ${ADDRESSES.botUrl.flag} or ${ADDRESSES.botUrl.variable}`);
    }
    const finding = await probe(botUrl, "no message was sent", surroundings);
    const { botUrl: registered } = (await findRegistration(surroundings)) ?? {};
    if (!registered || isSameBot(registered, botUrl)) return finding;
    return addOther(finding, registered, `take ${printUrl(registered)} if the base URL is right`);
  },
};

/** Adds that a different URL is registered; a failure stays a failure. */
const addOther = (finding: Finding, registered: string, hint: string): Finding =>
  finding.status === "failed"
    ? finding
    : warning(`${finding.text}; a different one is registered: ${printUrl(registered)}`, hint);

async function getWebhook(baseUrl: string, surroundings: Surroundings): Promise<Finding> {
  try {
    const registration = await readRegistration(surroundings);
    const place = `${printUrl(baseUrl)} accepts the API key`;
    if (registration === undefined) return ok(`${place}; no webhook is registered`);
    return ok(`${place}; ${printUrl(registration.webhookUrl)} is registered, ${registration.status}`);
  } catch (error) {
    if (!(error instanceof ApiChatError)) throw error;
    return failed(renderFailure(error, "doctor"), HINTS[error.code] ?? "check the base URL and the API key");
  }
}

const HINTS: Partial<Record<ApiChatError["code"], string>> = {
  unauthorized: "check the API key, and whether it belongs to this base URL",
  unavailable: "check the base URL, the network, the proxy and the firewall",
  protocol: "check the base URL: what answers there is not the registration interface",
};

async function performHandshake(
  { url, verificationKey }: { url: string; verificationKey: string },
  surroundings: Surroundings,
): Promise<Finding> {
  const { limitMs, signal } = surroundings;
  const serviceUrl = await findBaseUrl(surroundings);
  const diagnosis = await diagnoseHandshake({
    url,
    verificationKey,
    limitMs,
    signal,
    ...(serviceUrl === undefined ? {} : { serviceUrl }),
  });
  if (!diagnosis.passed) return failed(`${printUrl(url)}: ${diagnosis.reason}`, diagnosis.hint);
  const text = `${printUrl(url)} answers the handshake`;
  if (diagnosis.warnings.length === 0) return ok(text);
  return warning(
    `${text}; ${diagnosis.warnings.map((one) => one.text).join("; ")}`,
    "apichat verify shows more",
  );
}

/** Whether anything answers HTTP there. Only the status 404 means something: this is a GET, and the interfaces take POST. */
async function probe(url: string, remark: string, { limitMs, signal }: Surroundings): Promise<Finding> {
  const limit = AbortSignal.timeout(limitMs);
  try {
    const answer = await request(url, {
      headers: { "user-agent": USER_AGENT },
      dispatcher: sharedDispatcher(),
      signal: AbortSignal.any([signal, limit]),
    });
    await answer.body.dump();
    const text = `${printUrl(url)} answers (HTTP ${answer.statusCode} to GET); ${remark}`;
    return answer.statusCode === 404 ? warning(text, "check the URL: nothing may be there") : ok(text);
  } catch (error) {
    if (signal.aborted) throw error;
    const code = connectionCode(error) || (error instanceof Error ? error.name : "unknown error");
    const why = limit.aborted ? `no answer in ${limitMs / 1000} s` : `no answer: ${code}`;
    return failed(
      `${printUrl(url)}: ${why}`,
      "check the URL, whether its server runs, and the proxy and firewall",
    );
  }
}

/** What is registered is asked once, however many checks want it. */
const asked = new WeakMap<Surroundings, Promise<Registration | undefined>>();

/** What is registered; undefined if nothing is, or if base URL or API key are not known. Rejects as the client does. */
function readRegistration(surroundings: Surroundings): Promise<Registration | undefined> {
  const asking = asked.get(surroundings) ?? ask(surroundings);
  asked.set(surroundings, asking);
  return asking;
}

/** The same for a comparison: a failure is reported by the check of the base URL, and by no other. */
const findRegistration = (surroundings: Surroundings): Promise<Registration | undefined> =>
  readRegistration(surroundings).catch(() => undefined);

async function ask(surroundings: Surroundings): Promise<Registration | undefined> {
  const { credentials, limitMs, signal } = surroundings;
  const baseUrl = await findBaseUrl(surroundings);
  const apiKey = await credentials.findSecret("apiKey");
  if (baseUrl === undefined || apiKey === undefined) return undefined;
  return new RegistrationClient({ baseUrl, apiKey, requestSeconds: limitMs / 1000, signal }).getWebhook();
}
