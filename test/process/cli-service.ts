import { startEmulator, type Emulator, type EmulatorOptions } from "../../dist/provider/emulator/index.js";
import { startEndpoint, type Endpoint } from "../support/endpoint.ts";
import { API_KEY, closeAfterTests } from "./cli-harness.ts";

/** The service with the workspaces acme and globex, which share an API key. */
export async function startService(options: EmulatorOptions = {}): Promise<Emulator> {
  const workspaces = ["acme", "globex"].map((name) => ({ name, apiKey: API_KEY }));
  const emulator = await startEmulator({ workspaces, ...options });
  closeAfterTests(() => emulator.close());
  return emulator;
}

/** A webhook URL that answers handshakes as the responder does. */
export async function startWebhook(keys?: string[]): Promise<Endpoint> {
  const endpoint = await startEndpoint(keys === undefined ? {} : { keys });
  closeAfterTests(() => endpoint.close());
  return endpoint;
}
