import { RegistrationClient } from "../../client/registration-client.js";
import { quote } from "../../lib/redact.js";
import type { Check, Facts, Finding, Surroundings } from "./check.js";
import { checkConfiguration, findProjectFile, readStacks } from "./configuration.js";
import { checkBaseUrl, checkBotUrl, checkProxies, checkWebhookUrl } from "./network.js";
import { checkNode, checkPulumi } from "./engine.js";
import { checkDependency, checkLibrary, checkPlugin } from "./packages.js";
import { checkProgram, ofProgram, readProject } from "./project.js";
import { checkSdk, checkVirtualEnvironment, hasSdk } from "./sdk.js";
import { checkTypeScript } from "./typescript.js";

/** What a check has found, with its name. */
export interface NamedFinding extends Finding {
  name: string;
}

/** All checks by name, in the order of the output. */
const CHECKS: Record<string, Check> = {
  "Node.js": checkNode,
  "Pulumi CLI": checkPulumi,
  program: checkProgram,
  "pulumi-apichat": ofProgram(({ isOnPlugin }) => !isOnPlugin, checkDependency),
  "@pulumi/pulumi": ofProgram(({ runtime }) => runtime === "nodejs", checkLibrary),
  typescript: ofProgram(({ runtime }) => runtime === "nodejs", checkTypeScript),
  plugin: ofProgram(({ isOnPlugin }) => isOnPlugin, checkPlugin),
  "virtual env": ofProgram(({ runtime }) => runtime === "python", checkVirtualEnvironment),
  SDK: ofProgram(hasSdk, checkSdk),
  configuration: checkConfiguration,
  proxies: checkProxies,
  "base URL": checkBaseUrl,
  "webhook URL": checkWebhookUrl,
  "bot URL": checkBotUrl,
};

/** The width of the longest name. */
export const NAME_WIDTH = Math.max(...Object.keys(CHECKS).map((name) => name.length));

/** Runs all checks in parallel, and yields what they found in their order, each as soon as it is known. */
export async function* runChecks(surroundings: Surroundings): AsyncGenerator<NamedFinding> {
  const { credentials, signal } = surroundings;
  // Read first, so that a malformed one is a usage error instead of a failed check.
  const secrets = [await credentials.findSecret("apiKey"), await credentials.findSecret("verificationKey")];
  await Promise.all([credentials.findAddress("baseUrl"), credentials.findAddress("botUrl")]);
  const known = secrets.filter((secret) => secret !== undefined);
  const facts = await readFacts(surroundings);
  const running = Object.entries(CHECKS).map(([name, check]) => runCheck(name, check(facts), known));
  for (const finding of running) {
    const found = await finding;
    if (found !== undefined) yield found;
    signal.throwIfAborted();
  }
}

async function readFacts(surroundings: Surroundings): Promise<Facts> {
  const projectFile = await findProjectFile(surroundings.folder);
  const project = readProject(projectFile);
  const stacks = readStacks(projectFile);
  const baseUrl = findBaseUrl(surroundings, stacks);
  const registration = readRegistration(surroundings, baseUrl);
  // No check may need them.
  for (const fact of [project, stacks, baseUrl, registration]) fact.catch(() => undefined);
  return { ...surroundings, projectFile, project, stacks, baseUrl, registration };
}

async function findBaseUrl(
  { credentials }: Surroundings,
  stacks: Facts["stacks"],
): Promise<string | undefined> {
  const given = await credentials.findAddress("baseUrl");
  if (given !== undefined) return given;
  const urls = new Set((await stacks).flatMap((stack) => stack.baseUrl ?? []));
  return urls.size === 1 ? [...urls][0] : undefined;
}

async function readRegistration(
  { credentials, limitMs, signal }: Surroundings,
  givenUrl: Facts["baseUrl"],
): ReturnType<RegistrationClient["getWebhook"]> {
  const baseUrl = await givenUrl;
  const apiKey = await credentials.findSecret("apiKey");
  if (baseUrl === undefined || apiKey === undefined) return undefined;
  return new RegistrationClient({ baseUrl, apiKey, requestSeconds: limitMs / 1000, signal }).getWebhook();
}

async function runCheck(
  name: string,
  check: ReturnType<Check>,
  secrets: readonly string[],
): Promise<NamedFinding | undefined> {
  try {
    const found = await check;
    if (found === undefined) return undefined;
    const { hint, ...finding } = found;
    const text = quote(finding.text, secrets);
    return { name, ...finding, text, ...(hint === undefined ? {} : { hint: quote(hint, secrets) }) };
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return { name, status: "failed", text: quote(reason, secrets), hint: "fix that, and try again" };
  }
}
