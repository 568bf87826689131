import { randomUUID } from "node:crypto";
import { headers as createHeaders } from "@nats-io/transport-node";
import { createResponder, deriveVerificationKeys } from "pulumi-apichat/responder";
import { endToEndHeaders, UnavailableError } from "pulumi-apichat/responder";
import { subjectOf, type Queue } from "./queue.ts";

/** The name of a workspace is the path of its webhook URL. */
export const nameOf = (url = "/"): string => url.slice(1).split("?", 1).join("");

/** The responder of all workspaces. A delivery is acknowledged once it is in the stream. */
export function createAcceptor(queue: Queue, seed: string, rotations: string[]) {
  const keys = new Map<string, Promise<string[]>>();
  return createResponder({
    // With this limit, a body and its headers fit into one NATS message: 1 MiB, unless the server's limit differs.
    bodyLimitBytes: 960 * 1024,
    verificationKeys: ({ url }) => {
      const subject = nameOf(url);
      const derived = keys.get(subject) ?? deriveVerificationKeys(seed, { subject, rotations });
      keys.set(subject, derived);
      return derived;
    },
    onDelivery: async ({ message, rawBody }, { request }) => {
      const [id, workspace] = [randomUUID(), nameOf(request.url)];
      const { conv_id: conversation = id } = (message ?? {}) as { conv_id?: number | string };
      const headers = createHeaders();
      headers.set("apichat-workspace", workspace);
      headers.set("apichat-headers", JSON.stringify(endToEndHeaders(request.headers())));
      const subject = subjectOf(`${workspace}/${conversation}`);
      // NATS ignores a message whose id it already has, so a second attempt does not create a second delivery.
      const publish = () => queue.client.publish(subject, rawBody, { headers, msgID: id });
      await publish()
        .catch(publish)
        .catch((cause: unknown) => {
          console.error(`${workspace}: NATS did not accept a delivery: ${String(cause)}`);
          throw new UnavailableError("the queue did not accept it", { retryAfterSeconds: 5, cause });
        });
    },
  });
}
