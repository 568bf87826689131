import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { openFleet, type Fleet, type FleetDefinition, type FleetEvent } from "pulumi-apichat/fleet";
import { expect } from "vitest";
import { API_KEY } from "./endpoint.ts";
import { startServer, type Answer } from "./http.ts";
import { openScene, webhookUrlOf } from "./scene.ts";

export const PROJECT = "apichat-fleet";

export type FleetScene = Awaited<ReturnType<typeof openFleetScene>>;

/** A fleet's service, endpoints and backend. `known`: every workspace at the service, also those that no list has yet. */
export async function openFleetScene(
  known: readonly string[],
  definition: Pick<FleetDefinition, "name" | "stacks">,
) {
  const { emulator, backend } = await openScene(known);
  const dataDir = join(backend.folder, "fleet");
  const printed: unknown[] = [];
  const refused = new Set<string>();
  const fragile = new Set<string>();
  const tokens = new Map<string, string[]>();
  /** Gives the challenge back whatever the token is, and notes the token. The path is the workspace. */
  const answer: Answer = ({ path, body }, response) => {
    const { pathname, searchParams } = new URL(path, "http://endpoint");
    const name = pathname.slice(1);
    if (refused.has(name)) return response.writeHead(403).end();
    const parameters = new URLSearchParams([...searchParams, ...new URLSearchParams(body)]);
    const token = parameters.get("hub_verify_token");
    if (token !== null) tokens.set(name, [...(tokens.get(name) ?? []), token]);
    return response.end(parameters.get("hub_challenge"));
  };
  const endpoint = await startServer(answer);
  let second = await startServer(answer);

  const urlOf = (name: string): string => {
    if (fragile.has(name)) return `${second.url}/${name}`;
    return hasSecretUrl(name) ? webhookUrlOf({ endpoint }, name) : `${endpoint.url}/${name}`;
  };
  const list = (names: readonly string[]) =>
    names.map((name) => ({
      name,
      baseUrl: emulator.workspace(name).baseUrl,
      webhookUrl: urlOf(name),
      // The others have that of the environment.
      ...(hasSecretUrl(name) ? { apiKey: API_KEY } : {}),
    }));

  /** Opens the fleet with this list, hands it over, and closes it. */
  const withFleet = async <T>(
    names: readonly string[],
    work: (fleet: Fleet) => Promise<T>,
    more?: Partial<FleetDefinition>,
  ): Promise<T> => {
    const program = new URL("../fixtures/fleet/typed-program.ts", import.meta.url);
    const fleet = await openFleet(
      { ...definition, program, dataDir, project: PROJECT, workspaces: list(names), ...more },
      { environment: { ...backend.environment, APICHAT_API_KEY: API_KEY } },
    );
    try {
      return await work(fleet);
    } finally {
      await fleet.close();
    }
  };

  return {
    emulator,
    backend,
    /** The endpoint of the workspaces in `fragile` alone, which can be down. */
    second: {
      stop: () => second.close(),
      start: async () => void (second = await startServer(answer, { port: second.port })),
    },
    fragile,
    /** The workspaces whose handshakes are answered with HTTP 403. */
    refused,
    /** The tokens of all handshakes that were answered, by workspace. */
    tokens,
    /** Every report and every event so far. */
    printed,
    /** Where the runs note what is done. */
    dataDir,
    urlOf,
    withFleet,
    /** Runs the fleet once, keeps what it reports, and compares the calls that it counted with those that reached the service. */
    run: async <Report extends { calls: Record<string, number> }>(
      names: readonly string[],
      command: (fleet: Fleet, options: { onEvent: (event: FleetEvent) => void }) => Promise<Report>,
    ): Promise<Report> => {
      const before = emulator.requests.length;
      const onEvent = (event: FleetEvent): void => void printed.push(event);
      const report = await withFleet(names, (fleet) => command(fleet, { onEvent }));
      printed.push(report);
      const counts: Record<string, number> = {};
      for (const { action = "" } of emulator.requests.slice(before))
        counts[action] = (counts[action] ?? 0) + 1;
      expect(report.calls, "the calls that the run counted").toEqual(counts);
      return report;
    },
    /** The names of the fleet's stacks that have a state in the backend. There is no folder before the first. */
    deployedStacks: async (): Promise<string[]> => {
      const files = await readdir(join(backend.folder, ".pulumi", "stacks", PROJECT)).catch(() => []);
      return files
        .flatMap((file) => (file.endsWith(".json") ? [file.slice(0, -".json".length)] : []))
        .toSorted();
    },
  };
}

/** One in ten has a URL with a secret in its query, and its API key in the list. */
const hasSecretUrl = (name: string): boolean => name.endsWith("0");
