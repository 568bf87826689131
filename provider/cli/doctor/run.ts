import { quote } from "../../lib/redact.js";
import type { Check, Finding, Surroundings } from "./check.js";
import { configurationCheck } from "./configuration.js";
import { baseUrlCheck, botUrlCheck, proxyCheck, webhookUrlCheck } from "./network.js";
import { nodeCheck, pulumiCheck } from "./engine.js";
import { dependencyCheck, libraryCheck } from "./packages.js";
import { pluginCheck } from "./plugin.js";
import { projectCheck } from "./project.js";
import { sdkCheck, virtualEnvironmentCheck } from "./sdk.js";
import { typescriptCheck } from "./typescript.js";

/** What a check has found, under its name. */
export interface NamedFinding extends Finding {
  name: string;
}

const CHECKS: readonly Check[] = [
  nodeCheck,
  pulumiCheck,
  projectCheck,
  dependencyCheck,
  libraryCheck,
  typescriptCheck,
  pluginCheck,
  virtualEnvironmentCheck,
  sdkCheck,
  configurationCheck,
  proxyCheck,
  baseUrlCheck,
  webhookUrlCheck,
  botUrlCheck,
];

/** How wide the names are. */
export const NAME_WIDTH = Math.max(...CHECKS.map(({ name }) => name.length));

/** Makes all checks at once, and gives what they found in their order, each as soon as it is there. */
export async function* runChecks(surroundings: Surroundings): AsyncGenerator<NamedFinding> {
  const { credentials, signal } = surroundings;
  // Read first, so that a malformed one is a usage error instead of a failed check.
  const secrets = [await credentials.findSecret("apiKey"), await credentials.findSecret("verificationKey")];
  await Promise.all([credentials.findAddress("baseUrl"), credentials.findAddress("botUrl")]);
  const known = secrets.filter((secret) => secret !== undefined);
  const running = CHECKS.map((check) => runCheck(check, surroundings, known));
  for (const finding of running) {
    const found = await finding;
    if (found !== undefined) yield found;
    signal.throwIfAborted();
  }
}

async function runCheck(
  { name, run }: Check,
  surroundings: Surroundings,
  secrets: readonly string[],
): Promise<NamedFinding | undefined> {
  try {
    const found = await run(surroundings);
    if (found === undefined) return undefined;
    const { hint, ...finding } = found;
    const text = quote(finding.text, secrets);
    return { name, ...finding, text, ...(hint === undefined ? {} : { hint: quote(hint, secrets) }) };
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return { name, status: "failed", text: quote(reason, secrets), hint: "fix that, and try again" };
  }
}
