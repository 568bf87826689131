import { readdir, readFile } from "node:fs/promises";
import type { IncomingMessage, ServerResponse } from "node:http";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { openFleet, type Fleet, type FleetDefinition, type FleetEvent } from "pulumi-apichat/fleet";
import { expect } from "vitest";
import { API_KEY, startEndpoint, type Endpoint } from "./endpoint.ts";
import { openScene, webhookUrlOf, type Scene } from "./scene.ts";

export const PROJECT = "apichat-fleet";

/** A fleet's service, endpoints and backend, and all that its runs told. */
export interface FleetScene extends Scene {
  /** The endpoint of the workspaces in `fragile` alone, which can be down. */
  second: { stop(): Promise<void>; start(): Promise<void> };
  fragile: Set<string>;
  /** The workspaces whose handshakes are answered with HTTP 403. */
  refused: Set<string>;
  /** The tokens of all handshakes that were answered, by workspace. */
  tokens: Map<string, string[]>;
  /** Every report and every event so far. */
  told: unknown[];
  /** Where the runs note what is done. */
  dataDir: string;
  /** Opens the fleet with this list, hands it over, and closes it. */
  withFleet<T>(
    names: readonly string[],
    work: (fleet: Fleet) => Promise<T>,
    more?: Partial<FleetDefinition>,
  ): Promise<T>;
  /** Runs it once, keeps what it tells, and compares the calls that it counted with those that reached the service. */
  run<Report extends { calls: Record<string, number> }>(
    names: readonly string[],
    command: (fleet: Fleet, told: { onEvent: (event: FleetEvent) => void }) => Promise<Report>,
  ): Promise<Report>;
  /** The files of the fleet's stacks in the backend, by name. */
  stackFiles(): Promise<Record<string, string>>;
}

/** `known`: every workspace that there is at the service, also those that no list has yet. */
export async function openFleetScene(
  known: readonly string[],
  definition: Pick<FleetDefinition, "name" | "stacks">,
): Promise<FleetScene> {
  const scene = await openScene(known);
  const { emulator, backend } = scene;
  const dataDir = join(backend.folder, "fleet");
  const told: unknown[] = [];
  const refused = new Set<string>();
  const fragile = new Set<string>();
  const tokens = new Map<string, string[]>();
  const answer = answerHandshakes({ refused, tokens });
  scene.endpoint.answerWith(answer);
  let second: Endpoint = await startEndpoint();
  second.answerWith(answer);
  const { url: secondUrl } = second;

  const list = (names: readonly string[]) =>
    names.map((name) => ({
      name,
      baseUrl: emulator.workspace(name).baseUrl,
      webhookUrl: urlOf(name),
      // The others have that of the environment.
      ...(hasSecretUrl(name) ? { apiKey: API_KEY } : {}),
    }));
  const urlOf = (name: string): string => {
    if (fragile.has(name)) return `${secondUrl}/${name}`;
    return hasSecretUrl(name) ? webhookUrlOf(scene, name) : `${scene.endpoint.url}/${name}`;
  };
  const withFleet: FleetScene["withFleet"] = async (names, work, more) => {
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
    ...scene,
    second: {
      stop: () => second.close(),
      start: async () => {
        second = await startEndpoint({ port: Number(new URL(secondUrl).port) });
        second.answerWith(answer);
      },
    },
    fragile,
    refused,
    tokens,
    told,
    dataDir,
    withFleet,
    run: async (names, command) => {
      const before = emulator.requests.length;
      const onEvent = (event: FleetEvent): void => void told.push(event);
      const report = await withFleet(names, (fleet) => command(fleet, { onEvent }));
      told.push(report);
      expect(report.calls, "the calls that the run counted").toEqual(countCalls(scene, before));
      return report;
    },
    stackFiles: () => readStackFiles(backend.folder),
  };
}

/** One in ten has a URL with a secret in its query, and its API key in the list. */
export const hasSecretUrl = (name: string): boolean => name.endsWith("0");

/** How many calls of each action reached the emulator since it had received this many requests. */
function countCalls({ emulator }: Scene, requestCount: number): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { action = "" } of emulator.requests.slice(requestCount)) {
    counts[action] = (counts[action] ?? 0) + 1;
  }
  return counts;
}

/** Gives the challenge back whatever the token is, and notes the token. The path is the workspace. */
function answerHandshakes({ refused, tokens }: Pick<FleetScene, "refused" | "tokens">) {
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const url = new URL(request.url ?? "/", "http://endpoint");
    const name = url.pathname.slice(1);
    const parameters = new Map([...url.searchParams, ...parseBody(request, await text(request))]);
    response.statusCode = refused.has(name) ? 403 : 200;
    const token = parameters.get("hub_verify_token");
    if (!refused.has(name) && token !== undefined) tokens.set(name, [...(tokens.get(name) ?? []), token]);
    response.end(refused.has(name) ? "" : parameters.get("hub_challenge"));
  };
  return (request: IncomingMessage, response: ServerResponse): void => void answer(request, response);
}

function parseBody({ headers }: IncomingMessage, body: string): Iterable<[string, string]> {
  const isJson = headers["content-type"]?.includes("json") === true;
  return isJson ? Object.entries(JSON.parse(body) as Record<string, string>) : new URLSearchParams(body);
}

async function readStackFiles(folder: string): Promise<Record<string, string>> {
  const stacks = join(folder, ".pulumi", "stacks", PROJECT);
  // There is no folder before the first stack.
  const names = await readdir(stacks).catch(() => []);
  const states = names.filter((name) => name.endsWith(".json")).toSorted();
  const entries = states.map(async (name) => [name, await readFile(join(stacks, name), "utf8")] as const);
  return Object.fromEntries(await Promise.all(entries));
}
