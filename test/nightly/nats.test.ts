import { once } from "node:events";
import { spawn } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { jetstream } from "@nats-io/jetstream";
import { connect, headers } from "@nats-io/transport-node";
import { deriveVerificationKeys } from "pulumi-apichat/responder";
import { expect, it } from "vitest";
import { resolveGoTools } from "../../tools/engine/go-tools.ts";
import { makeFolder, startProgram, type Program } from "../process/program.ts";
import { SEED } from "../support/derived-keys.ts";
import { afterTests, freePort } from "../support/http.ts";
import { startReceiver } from "../support/receiver.ts";
import { deliverTo } from "../support/responder.ts";

const MAIN = fileURLToPath(new URL("../../examples/nats/main.ts", import.meta.url));
const [CONVERSATIONS, MESSAGES] = [24, 60];

it("forwards every delivery, in order within each conversation, even if a responder and NATS are killed", async () => {
  const folder = await makeFolder();
  const natsPort = await freePort();
  const nats = await prepareNats(folder, natsPort);
  let server = nats();
  const receiver = await startReceiver();
  receiver.answerWith(503);
  const key = (await deriveVerificationKeys(SEED, { subject: "acme", rotations: ["1"] }))[0]!;
  const start = async (port: number): Promise<Program> => {
    const config = {
      host: "127.0.0.1",
      port,
      servers: [`nats://127.0.0.1:${natsPort}`],
      replicas: 1,
      rotations: ["1"],
      workspaces: { acme: { forwardTo: receiver.url } },
    };
    const file = join(folder, `${port}.json`);
    await writeFile(file, JSON.stringify(config));
    const program = startProgram([file], { script: MAIN, environment: { KEY_SEED: SEED } });
    const ready = () => fetch(`http://127.0.0.1:${port}/readyz`).then(({ status }) => status, String);
    await expect.poll(ready).toBe(200);
    return program;
  };
  const ports = [await freePort(), await freePort()];
  const [first] = await Promise.all(ports.map(start));

  let accepted = 0;
  /** Sends one conversation, and retries each message until one of the two responders accepts it. */
  const send = async (conversation: number): Promise<void> => {
    for (let [number, attempt] = [0, conversation]; number < MESSAGES; attempt += 1) {
      const message = { conv_id: conversation, text: String(number) };
      const url = `http://127.0.0.1:${ports[attempt % 2]}/acme`;
      const status = await deliverTo(url, key, message).catch(() => undefined);
      if (status === 200) [number, accepted] = [number + 1, accepted + 1];
    }
  };
  const sent = Promise.all(Array.from({ length: CONVERSATIONS }, (_, conversation) => send(conversation)));
  const total = CONVERSATIONS * MESSAGES;
  await expect.poll(() => accepted).toBeGreaterThan(total / 4);
  receiver.answerWith(200);
  first!.child.kill("SIGKILL");
  await first!.ended;
  await expect.poll(() => accepted).toBeGreaterThan(total / 2);
  server.kill("SIGKILL");
  await once(server, "close");
  server = nats();
  await start(ports[0]!);
  await sent;

  const numbersOf = (conversation: number): number[] =>
    receiver.received
      .map(({ body }) => JSON.parse(body.toString()) as { conv_id: number; text: string })
      .filter((message) => message.conv_id === conversation)
      .map(({ text }) => Number(text));
  const all = Array.from({ length: MESSAGES }, (_, number) => number);
  const patience = { timeout: 120_000 };
  for (let conversation = 0; conversation < CONVERSATIONS; conversation += 1) {
    await expect.poll(() => [...new Set(numbersOf(conversation))], patience).toEqual(all);
    const numbers = numbersOf(conversation);
    expect(numbers).toEqual(numbers.toSorted((one, other) => one - other));
  }
  // Some ids arrived twice: deliveries that the receiver rejected with 503 are sent again with the same id.
  expect(new Set(receiver.received.map(({ id }) => id)).size).toBeLessThan(receiver.received.length);

  const connection = await connect({ servers: [`127.0.0.1:${natsPort}`] });
  afterTests(() => connection.close());
  const options = { headers: headers(), msgID: "one-id" };
  options.headers.set("apichat-workspace", "acme");
  options.headers.set("apichat-headers", "[]");
  const publish = () => jetstream(connection).publish("apichat.deliveries.0", "{}", options);
  expect([(await publish()).duplicate, (await publish()).duplicate]).toEqual([false, true]);
  const count = () => receiver.received.filter(({ id }) => id === "one-id").length;
  await expect.poll(count, patience).toBe(1);
});

/** Builds nats-server, once per machine. Returns a function that starts the server with its data in `folder`. */
async function prepareNats(folder: string, port: number) {
  const tool = {
    module: new URL("../../tools/engine/nats-server/", import.meta.url),
    package: "github.com/nats-io/nats-server/v2",
    binary: "nats-server",
  };
  const title = "Building nats-server with Go: a minute or two, once per machine";
  const bin = await resolveGoTools(
    { name: "nats-server", title, tools: [tool] },
    new AbortController().signal,
  );
  const options = ["-a", "127.0.0.1", "-p", String(port), "-js", "-sd", join(folder, "nats")];
  return () => {
    const server = spawn(join(bin, "nats-server"), options, { stdio: "ignore" });
    afterTests(() => server.kill("SIGKILL"));
    return server;
  };
}
