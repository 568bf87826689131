import { startEmulator, type Emulator, type EmulatorOptions } from "../../dist/provider/emulator/index.js";
import { startEndpoint, type Endpoint } from "../support/endpoint.ts";
import { afterTests } from "../support/http.ts";
import { API_KEY } from "./cli-harness.ts";

/** The service with the workspaces acme and globex, which share an API key. */
export async function startService(options: EmulatorOptions = {}): Promise<Emulator> {
  const workspaces = ["acme", "globex"].map((name) => ({ name, apiKey: API_KEY }));
  const emulator = await startEmulator({ workspaces, ...options });
  afterTests(() => emulator.close());
  return emulator;
}

/** A webhook URL that answers handshakes as the responder does. */
export const startWebhook = (keys?: string[]): Promise<Endpoint> => startEndpoint(keys ? { keys } : {});
