import process from "node:process";
import { API_KEY, baseUrlOf, VERIFICATION_KEY, workspaceNames } from "../settings.ts";

/** The same arguments for each side. */
export interface WebhookArgs {
  name: string;
  baseUrl: string;
  apiKey: string;
  webhookUrl: string;
  webhookVerificationKey: string;
}

/** The webhooks that a program declares: as many as `BENCH_WEBHOOKS` says. */
export function webhooksOfRun(): WebhookArgs[] {
  const {
    BENCH_WEBHOOKS: count,
    BENCH_SERVICE_URL: serviceUrl,
    BENCH_ENDPOINT_URL: webhookUrl,
  } = process.env;
  if (!count || !serviceUrl || !webhookUrl) throw new Error("the benchmark sets BENCH_… for its programs");
  return workspaceNames(Number(count)).map((name) => ({
    name,
    baseUrl: baseUrlOf(serviceUrl, name),
    apiKey: API_KEY,
    webhookUrl: `${webhookUrl}/webhooks/apichat`,
    webhookVerificationKey: VERIFICATION_KEY,
  }));
}
