import { parseArgs } from "node:util";
import { openFleet } from "pulumi-apichat/fleet";
import { definition } from "./definition.ts";

// For each stack, prints requests to Pulumi Cloud that set how Deployments runs the stack, schedule a daily drift
// check without repair, and delete any schedule that would destroy the stack (TTL). --apply also sends them. Usage:
// node deployments.ts <organization> <URL of the repository> [--apply]

/** The variables that the definition and the provider need. Their values are sent as secrets and never printed. */
const VARIABLES = ["APICHAT_API_KEY", "KEY_SEED"];

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: { apply: { type: "boolean", default: false } },
});
const [organization = "your-organization", repoUrl = "https://github.com/your/repository.git"] = positionals;

const settingsOf = (stack: string) => ({
  sourceContext: { git: { repoUrl, branch: "refs/heads/main" } },
  operationContext: {
    // Writes Pulumi.yaml and the program of the stack to the root of the repository.
    preRunCommands: ["npm ci", `node fleet.ts write --stack ${stack} --folder .`],
    options: { skipInstallDependencies: true },
    environmentVariables: Object.fromEntries(
      VARIABLES.map((name) => [name, { secret: values.apply ? required(name) : `$${name}` }]),
    ),
  },
});
const drift = { scheduleCron: "47 4 * * *", autoRemediate: false };

const fleet = await openFleet(definition);
for (const { name, workspaces } of fleet.stacks) {
  if (workspaces.length === 0) continue;
  const deployments = `/api/stacks/${organization}/${fleet.project}/${name}/deployments`;
  await send("POST", `${deployments}/settings`, settingsOf(name));
  const { schedules } = (await send("GET", `${deployments}/schedules`)) as { schedules: Schedule[] };
  for (const { id } of findSchedules(schedules, "destroy")) {
    await send("DELETE", `${deployments}/schedules/${id}`);
  }
  if (findSchedules(schedules, "detect-drift").length === 0) {
    await send("POST", `${deployments}/drift/schedules`, drift);
  }
}

interface Schedule {
  id: string;
  definition?: { request?: { operation?: string } };
}

function findSchedules(schedules: Schedule[], operation: string): Schedule[] {
  return schedules.filter(({ definition: { request } = {} }) => request?.operation === operation);
}

/** Prints a request. With --apply, also sends it. */
async function send(method: string, path: string, body?: object): Promise<unknown> {
  if (!values.apply) {
    console.log(method, path, body === undefined ? "" : JSON.stringify(body));
    return { schedules: [{ id: "<each TTL>", definition: { request: { operation: "destroy" } } }] };
  }
  console.log(method, path);
  const response = await fetch(`${process.env["PULUMI_API"] ?? "https://api.pulumi.com"}${path}`, {
    method,
    headers: {
      accept: "application/vnd.pulumi+8",
      authorization: `token ${required("PULUMI_ACCESS_TOKEN")}`,
      "content-type": "application/json",
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  if (!response.ok) throw new Error(`${method} ${path}: HTTP ${response.status} ${await response.text()}`);
  return response.status === 204 ? {} : response.json();
}

function required(name: string): string {
  const value = process.env[name];
  if (!value) throw new Error(`set ${name}`);
  return value;
}
