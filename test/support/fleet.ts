import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { openFleet, type Fleet, type FleetDefinition, type FleetEvent } from "pulumi-apichat/fleet";
import { API_KEY } from "./endpoint.ts";
import { startServer, type Answer } from "./http.ts";
import { openScene, webhookUrlOf } from "./scene.ts";

const PROJECT = "apichat-fleet";

/** Declares a random key and a webhook for each workspace, without waiting for an endpoint that does not respond. */
const webhook: FleetDefinition["webhook"] = ({ baseUrl, apiKey, webhookUrl = "" }) => {
  return { baseUrl, apiKey, webhookUrl, webhookVerificationKey: {}, timeouts: { readySeconds: 1 } };
};

export type FleetScene = Awaited<ReturnType<typeof openFleetScene>>;

/**
 * A fleet's service, endpoints and backend. `known` names all workspaces of the service, including those that
 * no list contains yet.
 */
export async function openFleetScene(
  known: readonly string[],
  definition: Pick<FleetDefinition, "name" | "stacks">,
) {
  const { emulator, backend } = await openScene(known);
  const folder = join(backend.folder, "fleet");
  const printed: unknown[] = [];
  const fragile = new Set<string>();
  const tokens = new Map<string, string[]>();
  /** Returns the challenge for any token, and records the token. The path names the workspace. */
  const answer: Answer = ({ path, body }, response) => {
    const { pathname, searchParams } = new URL(path, "http://endpoint");
    const name = pathname.slice(1);
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
      // The other workspaces use the API key of the environment.
      ...(hasSecretUrl(name) ? { apiKey: API_KEY } : {}),
    }));

  /** Opens the fleet with this list. */
  const open = (names: readonly string[]): Promise<Fleet> =>
    openFleet(
      { project: PROJECT, ...definition, folder, webhook, workspaces: list(names) },
      { environment: { ...backend.environment, APICHAT_API_KEY: API_KEY } },
    );

  return {
    emulator,
    backend,
    /** Whether the endpoint of the workspaces in `fragile` is up. */
    second: {
      stop: () => second.close(),
      start: async () => void (second = await startServer(answer, { port: second.port })),
    },
    fragile,
    /** The tokens of all handshakes that passed, by workspace. */
    tokens,
    /** Every report and every event so far. */
    printed,
    /** The working folder of the engine. */
    workFolder: join(folder, definition.name),
    urlOf,
    open,
    /** Runs the fleet once, and records its report. */
    run: async <Report>(
      names: readonly string[],
      command: (fleet: Fleet, options: { onEvent: (event: FleetEvent) => void }) => Promise<Report>,
    ): Promise<Report> => {
      const report = await command(await open(names), { onEvent: (event) => void printed.push(event) });
      printed.push(report);
      return report;
    },
    /**
     * Returns the names of the fleet's stacks with a state in the backend, whose folder does not exist before
     * the first.
     */
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
