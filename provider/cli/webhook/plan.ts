import { commandLine, toPlainText } from "../../errors/index.js";
import { isReady, planWebhooks, readPlannedWorkspaces, type PlanState } from "../../workspace-list/index.js";
import { EXIT, note, printResult } from "../output.js";
import { type CommandRun, noteIfSlow } from "../run-command.js";
import { formatTable } from "../table.js";
import type { WebhookOptions } from "./workspace.js";

export interface PlanOptions extends WebhookOptions {
  file: string;
}

export async function runPlan(options: PlanOptions, { credentials, signal }: CommandRun): Promise<number> {
  const listed = await readPlannedWorkspaces(options.file);
  // The command prompts for the API key only if a workspace has none of its own.
  const isNeeded = listed.some((workspace) => workspace.apiKey === undefined);
  const apiKey = isNeeded ? await credentials.secret("apiKey") : "";
  const { requestSeconds, apiKeyAs } = options;
  let answered = 0;
  const onAnswer = (): void => void (answered += 1);
  const rows = await noteIfSlow(
    () => `waiting for ${listed.length} workspaces; answered so far: ${answered}`,
    () => planWebhooks(listed, { apiKey, apiKeyAs, requestSeconds, signal, onAnswer }),
  );
  const unready = rows.filter((row) => !isReady(row)).length;
  const cells = rows.map(({ name, state, detail }) => [name, state, detail]);
  // With a wrong API key, many workspaces fail alike, so the reason and the hint are printed only once.
  const failed = rows.filter(({ reason }) => reason !== undefined);
  const groups = [...Map.groupBy(failed, ({ state, detail }) => `${state} ${detail}`).values()];
  const reasons = groups.map(([first]) => `\n${toPlainText(first?.name ?? "")}: ${first?.reason}\n`);
  printResult(options, { ok: unready === 0, workspaces: rows }, () =>
    [formatTable(["WORKSPACE", "STATE", "DETAIL"], cells, { colours: COLOURS }), ...reasons].join(""),
  );
  if (unready > 0 && !options.json)
    note(`${unready} of ${rows.length} are neither free nor yours; see ${commandLine()} webhook plan --help`);
  return unready === 0 ? EXIT.done : EXIT.failed;
}

const COLOURS: Record<PlanState, "green" | "yellow" | "red"> = {
  free: "green",
  yours: "green",
  foreign: "red",
  "same-bot": "red",
  unauthorized: "red",
  unreachable: "yellow",
  unclear: "yellow",
};
