import { createConnection } from "node:net";
import { once } from "node:events";
import { describe, expect, onTestFinished, test } from "vitest";
import type { Emulator, EmulatorEvent } from "../../../provider/emulator/index.js";
import { apiKey, outbound, set, startAcme, startEndpoint, startScene, verificationKey } from "./harness.js";

const reply = outbound("Olá", 42);

/** Opens the live stream, and collects its text and events, and how it ended. */
async function openStream({ url }: Emulator, query = "", headers: Record<string, string> = {}) {
  const controller = new AbortController();
  onTestFinished(() => controller.abort());
  const response = await fetch(`${url}/_emulator/events${query}`, { signal: controller.signal, headers });
  let seen = "";
  let parsed = 0;
  const found: EmulatorEvent[] = [];
  const read = async (): Promise<void> => {
    const stream = response.body?.pipeThrough(new TextDecoderStream()) ?? [];
    for await (const chunk of stream) seen += chunk;
  };
  const ended: Promise<unknown> = read().catch(String);
  /** Parses each event only once, because some tests stream megabytes. */
  const events = (): EmulatorEvent[] => {
    for (let end = seen.indexOf("\n\n", parsed); end >= 0; end = seen.indexOf("\n\n", parsed)) {
      const [, data] = /^data: (.*)$/m.exec(seen.slice(parsed, end)) ?? [];
      if (data !== undefined) found.push(JSON.parse(data) as EmulatorEvent);
      parsed = end + 2;
    }
    return found;
  };
  const verdictsOf = (id: string): string[] =>
    events().flatMap((event) =>
      event.type === "delivery" && event.delivery.id === id ? [event.delivery.verdict] : [],
    );
  return { response, text: () => seen, events, verdictsOf, ended };
}

const typesOf = (events: readonly EmulatorEvent[]): string[] => events.map(({ type }) => type);

describe("the live stream", () => {
  test("reports every numbered event as it happens", async () => {
    const { emulator, acme } = await startAcme();
    const stream = await openStream(emulator);
    expect(stream.response.headers.get("content-type")).toBe("text/event-stream");
    await set(acme, (await startEndpoint()).url);
    await acme.deliver(reply);
    acme.mayManageFlow = false;
    emulator.injectFault({ operation: "message", fault: "html" });
    emulator.addWorkspace({ name: "beta", apiKey });
    emulator.removeWorkspace("beta");
    await emulator.reset();
    await expect.poll(() => stream.events().at(-1)?.type).toBe("reset");
    const records = ["handshake", "request", "conversation", "message", "delivery"];
    const others = ["workspace", "workspace-removed", "faults", "reset"];
    expect(new Set(typesOf(stream.events()))).toEqual(new Set([...records, ...others]));
  });

  test("masks secrets unless the request reveals them, and ends when the emulator closes", async () => {
    const { emulator, acme } = await startAcme();
    const streams = [await openStream(emulator), await openStream(emulator, "?reveal=true")] as const;
    await set(acme, (await startEndpoint()).url);
    for (const stream of streams) await expect.poll(() => typesOf(stream.events())).toContain("request");
    for (const secret of [apiKey, verificationKey]) {
      expect(streams.map(({ text }) => text().includes(secret))).toEqual([false, true]);
    }
    await emulator.close();
    for (const { ended } of streams) expect(String(await ended)).toMatch(/undefined|terminated/);
  });

  test("is closed if its client does not read, without affecting other streams", async () => {
    const { emulator, acme } = await startScene();
    const socket = createConnection(Number(new URL(emulator.url).port), "127.0.0.1");
    onTestFinished(() => void socket.destroy());
    const gone = once(socket, "close");
    socket.on("error", () => undefined);
    socket.pause();
    socket.write(`GET /_emulator/events HTTP/1.1\r\nHost: ${new URL(emulator.url).host}\r\n\r\n`);
    const reading = await openStream(emulator);
    const text = "x".repeat(512 * 1024);
    // More than the limit and the buffers of sockets, because each message causes several events.
    const deliver = async (message: typeof reply): Promise<void> => {
      const { id } = await acme.deliver(message);
      // The reading client is in this process too, and must keep up.
      await expect.poll(() => reading.verdictsOf(id)).toContain("delivered");
    };
    for (let count = 0; count < 16; count += 1) await deliver({ ...reply, text });
    socket.resume();
    await gone;
    await deliver(reply);
  });
});
