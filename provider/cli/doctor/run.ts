import { RegistrationClient } from "../../client/index.js";
import { findProjectFile } from "../../lib/files.js";
import { quote } from "../../lib/redact.js";
import { textOf } from "../report-error.js";
import { failed, LIMIT_MS, ok } from "./check.js";
import type { DoctorCheck, DoctorFacts, Finding, Surroundings } from "./check.js";
import { checkBaseUrl, checkWebhookUrl } from "./network.js";
import { checkConfiguration, checkPlugin, checkPulumi } from "./program.js";
import { readStacks } from "./project.js";

/** What a check has found, with its name. */
export interface NamedFinding extends Finding {
  name: string;
}

/** All checks by name, in the order of the output. */
const CHECKS: Record<string, DoctorCheck> = {
  // An older one does not come this far.
  "Node.js": () => ok(process.version),
  "Pulumi CLI": checkPulumi,
  plugin: checkPlugin,
  configuration: checkConfiguration,
  "base URL": checkBaseUrl,
  "webhook URL": checkWebhookUrl,
};

/** Runs all checks in parallel, and returns what they found in their order. */
export async function runChecks(surroundings: Surroundings): Promise<NamedFinding[]> {
  const { credentials } = surroundings;
  // Read first, so that a malformed one is a usage error instead of a failed check.
  const secrets = [await credentials.findSecret("apiKey"), await credentials.findSecret("verificationKey")];
  await credentials.findAddress("baseUrl");
  const known = secrets.filter((secret) => secret !== undefined);
  const facts = await readFacts(surroundings);
  const findings = Object.entries(CHECKS).map(([name, check]) => runCheck(name, check(facts), known));
  return (await Promise.all(findings)).filter((finding) => finding !== undefined);
}

async function readFacts(surroundings: Surroundings): Promise<DoctorFacts> {
  const { credentials, folder, signal } = surroundings;
  const projectFile = findProjectFile(folder);
  const stacks = readStacks(projectFile);
  const findBaseUrl = async (): Promise<string | undefined> => {
    const given = await credentials.findAddress("baseUrl");
    if (given !== undefined) return given;
    const [url, ...others] = new Set((await stacks).flatMap((stack) => stack.baseUrl ?? []));
    return others.length === 0 ? url : undefined;
  };
  const baseUrl = findBaseUrl();
  const getRegistration = async (): DoctorFacts["registration"] => {
    const [url, apiKey] = [await baseUrl, await credentials.findSecret("apiKey")];
    if (url === undefined || apiKey === undefined) return undefined;
    const requestSeconds = LIMIT_MS / 1000;
    return new RegistrationClient({ baseUrl: url, apiKey, requestSeconds, signal }).getWebhook();
  };
  const registration = getRegistration();
  // No check may need them.
  for (const fact of [stacks, baseUrl, registration]) fact.catch(() => undefined);
  return { ...surroundings, projectFile, stacks, baseUrl, registration };
}

async function runCheck(
  name: string,
  check: ReturnType<DoctorCheck>,
  secrets: readonly string[],
): Promise<NamedFinding | undefined> {
  const found = await Promise.resolve(check).catch((error: unknown) =>
    failed(textOf(error), "fix that, and try again"),
  );
  if (found === undefined) return undefined;
  const { status, text, hint } = found;
  return { name, status, text: quote(text, secrets), ...(hint && { hint: quote(hint, secrets) }) };
}
