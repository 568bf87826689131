import { RegistrationClient } from "../../client/index.js";
import { findProjectFile } from "../../lib/files.js";
import { quote } from "../../lib/redact.js";
import { textOf } from "../report-error.js";
import { failed, LIMIT_MS, ok, type DoctorCheck, type Finding, type Surroundings } from "./check.js";
import { checkBaseUrl, checkWebhookUrl } from "./network.js";
import { checkPlugin, checkPulumi } from "./program.js";

export interface NamedFinding extends Finding {
  name: string;
}

const CHECKS: Record<string, DoctorCheck> = {
  // An older one does not come this far.
  "Node.js": () => ok(process.version),
  "Pulumi CLI": checkPulumi,
  plugin: checkPlugin,
  "base URL": checkBaseUrl,
  "webhook URL": checkWebhookUrl,
};

export async function runChecks(surroundings: Surroundings): Promise<NamedFinding[]> {
  const { credentials, folder, signal } = surroundings;
  // Read first, so that a malformed one is a usage error instead of a failed check.
  const apiKey = await credentials.findSecret("apiKey");
  const secrets = [apiKey, await credentials.findSecret("verificationKey")].filter(
    (one) => one !== undefined,
  );
  const baseUrl = await credentials.findAddress("baseUrl");
  const registration =
    baseUrl === undefined || apiKey === undefined
      ? Promise.resolve(undefined)
      : new RegistrationClient({ baseUrl, apiKey, requestSeconds: LIMIT_MS / 1000, signal }).getWebhook();
  // No check may need it.
  registration.catch(() => undefined);
  const facts = { ...surroundings, projectFile: findProjectFile(folder), baseUrl, registration };
  const findings = Object.entries(CHECKS).map(([name, check]) => runCheck(name, check(facts), secrets));
  return (await Promise.all(findings)).filter((finding) => finding !== undefined);
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
