import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { createResponder, type Delivery } from "pulumi-apichat/responder";
import { toNodeListener } from "pulumi-apichat/responder/node";

/** A local endpoint for every workspace. */
export interface Receiver {
  /** The webhook URL. */
  url: string;
  /** What arrived and had a good signature. */
  deliveries: Delivery[];
  close(): Promise<void>;
}

/** Starts an endpoint that answers handshakes and takes deliveries with any of these keys. */
export async function startReceiver(verificationKeys: string[]): Promise<Receiver> {
  const deliveries: Delivery[] = [];
  const onDelivery = (delivery: Delivery): void => void deliveries.push(delivery);
  const server = createServer(toNodeListener(createResponder({ verificationKeys, onDelivery })));
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject).listen(0, "127.0.0.1", resolve);
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/webhooks/apichat`,
    deliveries,
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
