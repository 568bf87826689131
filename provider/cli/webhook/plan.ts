import { RegistrationClient } from "../../client/index.js";
import type { PlannedWorkspace } from "../../workspace-list/list.js";
import { readPlannedWorkspaces } from "../../workspace-list/read.js";
import { observeFirst } from "../../webhook/observe.js";
import { openCredentials } from "../credentials.js";
import { EXIT, note, print, printJson } from "../output.js";
import type { Interruption } from "../run-command.js";
import { noteIfSlow } from "../slow.js";
import { formatTable } from "../table.js";
import { isWell, rowOfAnswer, rowOfFailure, tellSameBots, type PlanRow } from "./plan-states.js";
import type { ApiKeyAs } from "../../client/options.js";
import type { CredentialOptions } from "../credential-options.js";

export interface PlanOptions extends CredentialOptions {
  file: string;
  json?: boolean;
  apiKeyAs: ApiKeyAs;
  /** In seconds. */
  requestSeconds: number;
}

/** Asks each workspace of a list once what is registered, and prints it. Nothing is written. Gives the exit code. */
export async function planWebhooks(options: PlanOptions, interruption: Interruption): Promise<number> {
  const workspaces = await withApiKeys(await readPlannedWorkspaces(options.file), options, interruption);
  const rows = await askAll(workspaces, options, interruption);
  if (options.json) printJson({ ok: rows.every(isWell), workspaces: rows });
  else printRows(rows);
  return rows.every(isWell) ? EXIT.done : EXIT.failed;
}

type Keyed = PlannedWorkspace & { apiKey: string };

/** Asks for the command's API key only if a workspace has none of its own. */
async function withApiKeys(
  workspaces: readonly PlannedWorkspace[],
  options: PlanOptions,
  { interrupt }: Interruption,
): Promise<Keyed[]> {
  const isNeeded = workspaces.some(({ apiKey }) => apiKey === undefined);
  const common = isNeeded ? await openCredentials(options, interrupt).secret("apiKey") : "";
  return workspaces.map((workspace) => ({ ...workspace, apiKey: workspace.apiKey ?? common }));
}

/** The client itself has at most eight calls to one origin in progress. */
async function askAll(
  workspaces: readonly Keyed[],
  { requestSeconds, apiKeyAs }: PlanOptions,
  { signal }: Interruption,
): Promise<PlanRow[]> {
  let answered = 0;
  const ask = async (workspace: Keyed) => {
    const { baseUrl, apiKey } = workspace;
    const client = new RegistrationClient({ baseUrl, apiKey, apiKeyAs, requestSeconds, signal });
    const row = await observeFirst(client).then(
      (seen) => rowOfAnswer(workspace, seen),
      (error: unknown) => rowOfFailure(workspace, error),
    );
    answered += 1;
    return row;
  };
  return noteIfSlow(
    () => `waiting for ${workspaces.length} workspaces, ${answered} have answered`,
    async () => tellSameBots(await Promise.all(workspaces.map(ask))),
  );
}

function printRows(rows: readonly PlanRow[]): void {
  const cells = rows.map(({ name, state, detail }) => [name, state, detail]);
  print(formatTable(["WORKSPACE", "STATE", "DETAIL"], cells));
  const troubled = rows.filter((row) => !isWell(row)).length;
  if (troubled > 0)
    note(`${troubled} of ${rows.length} are neither free nor yours; see apichat webhook plan --help`);
}
