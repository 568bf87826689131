import { randomUUID } from "node:crypto";
import { startEmulator, type Emulator, type RecordedRequest, type Workspace } from "pulumi-apichat/emulator";
import { startServer } from "../../test/support/http.ts";
import { sampleAddress } from "../schema/samples.ts";

/** What schemathesis is let loose on. All of it listens on loopback. */
export interface Service extends AsyncDisposable {
  emulator: Emulator;
  workspace: Workspace;
  /** Answers every handshake and takes every delivery. */
  webhookUrl: string;
}

/** Starts an emulator whose one workspace has the addresses of the document's examples, and keys of this run only. */
export async function startService(): Promise<Service> {
  // Any verification key will do: schemathesis makes them up.
  const endpoint = await startServer(({ body }, response) =>
    response.end(new URLSearchParams(body).get("hub_challenge") ?? ""),
  );
  const { workspace: name, botCode } = sampleAddress;
  const keys = { apiKey: randomUUID(), flowApiKey: randomUUID() };
  const emulator = await startEmulator({ workspaces: [{ name, botCode, ...keys }] });
  return {
    emulator,
    workspace: emulator.workspace(name),
    webhookUrl: `${endpoint.url}/webhook`,
    [Symbol.asyncDispose]: async () => {
      await emulator.close();
      await endpoint.close();
    },
  };
}

const operations = ["get-webhook", "set-webhook", "delete-webhook", "message"];
/** Taken, refused for its key, refused for its body. */
const outcomes = ["2xx", "401", "422"];

/**
 * What a run has not reached, such as `set-webhook 422`: a run whose requests are all refused for their key would find
 * nothing wrong.
 */
export function listUnreached(requests: readonly RecordedRequest[]): string[] {
  const reached = new Set(
    requests.map(({ interface: port, action, status = 0 }) => {
      const outcome = status >= 200 && status < 300 ? "2xx" : status;
      return `${port === "bot" ? "message" : action} ${outcome}`;
    }),
  );
  return operations
    .flatMap((operation) => outcomes.map((outcome) => `${operation} ${outcome}`))
    .filter((pair) => !reached.has(pair));
}
