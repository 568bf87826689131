import type { Emulator, Workspace } from "../../emulator/index.js";

/** A workspace that was started with keys that were made here, and are shown once. */
export type ShownKeys = ReadonlySet<string>;

interface StartFacts {
  shown: ShownKeys;
  hasToken: boolean;
  /** The address that was asked for. */
  host: string;
}

/** The first lines: where everything is. */
export function formatStart(emulator: Emulator, { shown, hasToken, host }: StartFacts): string {
  const workspaces = [...emulator.workspaces.values()].map((workspace) => formatWorkspace(workspace, shown));
  return [
    `page          ${emulator.url}/_emulator/${hasToken ? "?token=<the token>" : ""}`,
    ...(WILDCARDS.has(host) ? [formatReach(emulator)] : []),
    `registration  ${emulator.url}`,
    `bot host      ${emulator.botUrl}`,
    ...workspaces,
    "Ctrl-C ends it",
    "",
  ].join("\n");
}

/** The spellings of every address of a machine. */
const WILDCARDS = new Set(["0.0.0.0", "::"]);

const formatReach = ({ url, botUrl }: Emulator): string =>
  `              at every address of this machine: port ${new URL(url).port}, bot host port ${new URL(botUrl).port}`;

function formatWorkspace({ name, baseUrl, botUrl, apiKey, flowApiKey }: Workspace, shown: ShownKeys): string {
  const rows = [
    `workspace ${name}`,
    `  base URL      ${baseUrl}`,
    `  bot URL       ${botUrl}`,
    ...(shown.has(name) ? [`  API key       ${apiKey}`, `  flow API key  ${flowApiKey}`] : []),
  ];
  return rows.join("\n");
}

/** The same for scripts: the first line of `--json`. */
export function describeStart(emulator: Emulator, shown: ShownKeys): object {
  return {
    type: "started",
    at: new Date().toISOString(),
    page: `${emulator.url}/_emulator/`,
    url: emulator.url,
    botUrl: emulator.botUrl,
    workspaces: [...emulator.workspaces.values()].map(({ name, baseUrl, botUrl, apiKey, flowApiKey }) => ({
      name,
      baseUrl,
      botUrl,
      ...(shown.has(name) ? { apiKey, flowApiKey } : {}),
    })),
  };
}
