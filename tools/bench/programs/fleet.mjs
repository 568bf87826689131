/** The program of the fleet's rows: the same module declares one stack of a fleet, and one stack of all workspaces. */
import { ApiChatWebhook } from "pulumi-apichat";

/** @type {import("pulumi-apichat/fleet").FleetProgram} */
export default function declareWebhooks({ workspaces }) {
  return Object.fromEntries(
    workspaces.map(({ name, ...args }) => [name, new ApiChatWebhook(name, withEndpoint(args))]),
  );
}

/**
 * @template {object} Args
 * @param {Args} args
 */
function withEndpoint(args) {
  // The endpoint knows one key for all workspaces: a key of each one's own would need a second resource on both sides.
  const { BENCH_WEBHOOK_URL: webhookUrl = "", BENCH_VERIFICATION_KEY: webhookVerificationKey = "" } =
    process.env;
  return { ...args, webhookUrl, webhookVerificationKey };
}
