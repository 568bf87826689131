import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { startEmulator, type Emulator, type Workspace } from "pulumi-apichat/emulator";
import { sampleAddress } from "../schema/samples.ts";

/** What schemathesis is let loose on. All of it listens on loopback. */
export interface Service {
  emulator: Emulator;
  workspace: Workspace;
  /** Answers every handshake and takes every delivery. */
  webhookUrl: string;
  close(): Promise<void>;
}

/** Starts an emulator whose one workspace has the addresses of the document's examples, and keys of this run only. */
export async function startService(): Promise<Service> {
  const endpoint = await startEndpoint();
  const { workspace: name, botCode } = sampleAddress;
  const keys = { apiKey: randomUUID(), flowApiKey: randomUUID() };
  const emulator = await startEmulator({ workspaces: [{ name, botCode, ...keys }] });
  return {
    emulator,
    workspace: emulator.workspace(name),
    webhookUrl: endpoint.url,
    close: async () => {
      await emulator.close();
      await endpoint.close();
    },
  };
}

/** Any verification key will do: schemathesis makes them up. */
async function startEndpoint(): Promise<{ url: string; close: () => Promise<void> }> {
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      response.end(new URLSearchParams(Buffer.concat(chunks).toString()).get("hub_challenge") ?? "");
    });
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject).listen(0, "127.0.0.1", resolve);
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/webhook`,
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
