/** The service and an endpoint, in a process of their own: `service.ts <number of workspaces>`. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { startEmulator } from "pulumi-apichat/emulator";
import { createResponder } from "pulumi-apichat/responder";
import { toNodeListener } from "pulumi-apichat/responder/node";
import { serveParent } from "./child.ts";
import { API_KEY, VERIFICATION_KEY, workspaceNames } from "./settings.ts";

export interface ServiceReport {
  serviceUrl: string;
  endpointUrl: string;
  /** The number of workspaces with a registration. */
  registered: number;
  /** How often each action was called since the last report, and the endpoint. */
  calls: Record<string, number>;
}

const workspaces = workspaceNames(Number(process.argv[2])).map((name) => ({ name, apiKey: API_KEY }));
const emulator = await startEmulator({ workspaces });
const respond = toNodeListener(
  createResponder({ verificationKeys: VERIFICATION_KEY, onDelivery: () => undefined }),
);
let endpointCalls = 0;
const endpoint = createServer((request, response) => {
  endpointCalls += 1;
  respond(request, response);
});
await new Promise<void>((resolve) => endpoint.listen(0, "127.0.0.1", resolve));

let reported = 0;
serveParent((): ServiceReport => {
  const calls: Record<string, number> = { endpoint: endpointCalls };
  for (const { action = "none" } of emulator.requests.slice(reported))
    calls[action] = (calls[action] ?? 0) + 1;
  reported = emulator.requests.length;
  endpointCalls = 0;
  return {
    serviceUrl: emulator.url,
    endpointUrl: `http://127.0.0.1:${(endpoint.address() as AddressInfo).port}`,
    registered: [...emulator.workspaces.values()].filter(({ registration }) => registration).length,
    calls,
  };
});
