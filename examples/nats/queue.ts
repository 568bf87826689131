import { createHash } from "node:crypto";
import { AckPolicy, DiscardPolicy, jetstream, jetstreamManager, RetentionPolicy } from "@nats-io/jetstream";
import { connect, nanos } from "@nats-io/transport-node";

/**
 * All processes together forward one delivery per partition at a time. Change this only while the stream is empty.
 */
const PARTITIONS = 64;
const STREAM = "apichat-deliveries";
export const DEAD_LETTERS = "apichat.dead-letters";

export type Queue = Awaited<ReturnType<typeof openQueue>>;

/** Connects to NATS, and creates the streams and consumers if they are missing. Reconnects forever. */
export async function openQueue(servers: string[], num_replicas: number) {
  const connection = await connect({ servers, maxReconnectAttempts: -1, waitOnFirstConnect: true });
  const [manager, client] = [await jetstreamManager(connection), jetstream(connection)];
  // A full stream rejects new deliveries: the service gets 503, and nothing is dropped.
  const limits = { retention: RetentionPolicy.Workqueue, discard: DiscardPolicy.New, num_replicas };
  await manager.streams.add({ name: STREAM, subjects: ["apichat.deliveries.*"], ...limits });
  await manager.streams.add({ name: "apichat-dead-letters", subjects: [DEAD_LETTERS], num_replicas });
  // ack_wait is longer than the time limit for a target's response, which is 20 seconds.
  const ack = { ack_policy: AckPolicy.Explicit, ack_wait: nanos(30_000), max_ack_pending: 1 };
  const consumers = [];
  for (let partition = 0; partition < PARTITIONS; partition += 1) {
    const names = { durable_name: `forward-${partition}`, filter_subject: subjectAt(partition) };
    await manager.consumers.add(STREAM, { ...names, ...ack });
    consumers.push(await client.consumers.get(STREAM, names.durable_name));
  }
  return { connection, client, consumers };
}

const subjectAt = (partition: number): string => `apichat.deliveries.${partition}`;

/** The subject for all deliveries of a conversation. Some other conversations share it. */
export function subjectOf(conversation: string): string {
  const hash = createHash("sha256").update(conversation).digest();
  return subjectAt(hash.readUInt32BE() % PARTITIONS);
}
