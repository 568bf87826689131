import { Command, Option } from "commander";
import { addCredentialOptions, CREDENTIALS_HELP } from "../credentials.js";
import { ENDINGS } from "../output.js";
import { parseUrl, parseWaitingSeconds, requestSecondsOption } from "../option-values.js";
import { runToExit } from "../run-command.js";
import type { PlanOptions } from "./plan.js";
import type { DeleteOptions, GetOptions, SetCommandOptions } from "./workspace.js";

export const webhookCommand = (): Command =>
  new Command("webhook")
    .description("show, set or remove the webhook of a workspace; plan the webhooks of many")
    .addCommand(getCommand())
    .addCommand(setCommand())
    .addCommand(deleteCommand())
    .addCommand(planCommand())
    .addHelpText("after", WEBHOOK_HELP);

// The work of each command is loaded when it runs: `--help` needs neither an HTTP client nor zod.

const getCommand = (): Command =>
  workspaceCommand("get", "show what is registered")
    .option("--show-key", "print the verification key as the service returns it")
    .addHelpText("after", GET_HELP)
    .action((options: GetOptions) =>
      runToExit(options, async (run) => (await import("./workspace.js")).runGet(options, run)),
    );

const setCommand = (): Command =>
  workspaceCommand("set", "register a webhook URL, unless a different one is registered")
    .requiredOption("--webhook-url <url>", "where the service sends handshakes and deliveries", parseUrl)
    .option("--replace", "register it even if a different URL is registered")
    .addOption(
      new Option("--preflight <mode>", "try the handshake before the service does")
        .choices(["require", "warn", "off"])
        .default("require"),
    )
    .option(
      "--ready-seconds <seconds>",
      "how long the endpoint and the service may take until the webhook is verified",
      parseWaitingSeconds,
      60,
    )
    .addHelpText("after", SET_HELP)
    .action((options: SetCommandOptions) =>
      runToExit(options, async (run) => (await import("./workspace.js")).runSet(options, run)),
    );

const deleteCommand = (): Command =>
  workspaceCommand("delete", "remove the webhook if its URL is the one you name")
    .requiredOption("--webhook-url <url>", "the URL to remove", parseUrl)
    .option("--replace", "remove it even if its URL differs")
    .addHelpText("after", DELETE_HELP)
    .action((options: DeleteOptions) =>
      runToExit(options, async (run) => (await import("./workspace.js")).runDelete(options, run)),
    );

const planCommand = (): Command =>
  addCredentialOptions(new Command("plan"), ["apiKey"])
    .description("show which workspaces are free, yours or somebody else's; writes nothing")
    .requiredOption("--file <file>", "list of workspaces (YAML or JSON)")
    .addOption(apiKeyAsOption())
    .addOption(requestSecondsOption("time limit for each workspace", 10))
    .option("--json", "print JSON")
    .addHelpText("after", PLAN_HELP)
    .action((options: PlanOptions) =>
      runToExit(options, async (run) => (await import("./plan.js")).runPlan(options, run)),
    );

const workspaceCommand = (name: string, description: string): Command =>
  addCredentialOptions(new Command(name), ["baseUrl", "apiKey", "verificationKey"])
    .description(description)
    .addOption(apiKeyAsOption())
    .addOption(requestSecondsOption("how long one call may take, including retries"))
    .option("--json", "print JSON");

const apiKeyAsOption = (): Option =>
  new Option(
    "--api-key-as <method>",
    "how the API key is presented; the specification also mentions a bearer token",
  )
    .choices(["body", "body-and-bearer"])
    .default("body");

const WEBHOOK_HELP = `
Examples:
  $ apichat webhook get --base-url https://platform.example/acme/apichat
  $ apichat webhook set --webhook-url https://chat.example/webhooks/apichat
${ENDINGS}`;

const GET_HELP = `
The output says only that a key is set and, if you pass yours, whether the two are equal. --show-key prints
the key. With --json, "keyMatches" is true, false, or null if unknown; "key" is present only with --show-key.
Values in the URL's query are hidden.
${CREDENTIALS_HELP}
Examples:
  $ apichat webhook get --base-url https://platform.example/acme/apichat --api-key-file acme.key
  $ apichat webhook get --json
${ENDINGS} Also 0 if nothing is registered.`;

const SET_HELP = `
If a different URL is registered, the command fails and leaves that URL in place, unless you pass --replace.
${CREDENTIALS_HELP}
Examples:
  $ apichat webhook set --webhook-url https://chat.example/webhooks/apichat
  $ apichat webhook set --webhook-url https://chat.example/new --replace --preflight warn
${ENDINGS}`;

const DELETE_HELP = `
Nothing records what you registered, so the URL decides whether the webhook is yours. If a different URL is
registered, the command fails and removes nothing, unless you pass --replace. If nothing is registered, it
succeeds.
${CREDENTIALS_HELP}
Examples:
  $ apichat webhook delete --webhook-url https://chat.example/webhooks/apichat
${ENDINGS}`;

const PLAN_HELP = `
The list contains an entry for each workspace, with its name and baseUrl. Each entry may also contain webhookUrl,
and apiKey or apiKeyEnv (an environment variable whose name contains API_KEY). At the top of the list, these
fields apply to all entries. An entry without an API key uses the one that you pass to the command.

States: free (nothing registered), yours (the same URL), foreign (a different URL), same-bot (two entries
reach one workspace), unauthorized, unreachable, unclear (any other response). HTTP 404 counts as free: the
specification does not say how the service responds for a workspace that never had a webhook.
${CREDENTIALS_HELP}
Examples:
  $ apichat webhook plan --file workspaces.yaml
  $ apichat webhook plan --file workspaces.yaml --json | jq '.workspaces[] | select(.state != "free")'
${ENDINGS}
0 if all workspaces are free or yours, else 1.`;
