import { createConnection } from "node:net";
import { once } from "node:events";
import { describe, expect, onTestFinished, test } from "vitest";
import type { Emulator, EmulatorEvent } from "../../../provider/emulator/index.js";
import { apiKey, outbound, set, startAcme, startEndpoint, startScene, verificationKey } from "./harness.js";

const reply = outbound("Olá", 42);

/** Opens the live stream of events, and records its text and how it ends. */
async function openStream({ url }: Emulator, query = "") {
  const controller = new AbortController();
  onTestFinished(() => controller.abort());
  const response = await fetch(`${url}/_emulator/events${query}`, { signal: controller.signal });
  let seen = "";
  const read = async (): Promise<void> => {
    for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? []) seen += chunk;
  };
  const ended: Promise<unknown> = read().catch(String);
  const types = (): string[] =>
    Array.from(
      seen.matchAll(/^data: (.*)\n\n/gm),
      ([, data = ""]) => (JSON.parse(data) as EmulatorEvent).type,
    );
  return { response, text: () => seen, types, ended };
}

describe("the live stream", () => {
  test("reports new records and changes, of every kind", async () => {
    const { emulator, acme } = await startAcme();
    const stream = await openStream(emulator);
    expect(stream.response.headers.get("content-type")).toBe("text/event-stream");
    await set(acme, (await startEndpoint()).url);
    await acme.deliver(reply);
    acme.change({ mayManageFlow: false });
    emulator.injectFault({ operation: "message", fault: "html" });
    emulator.addWorkspace({ name: "beta", apiKey });
    emulator.removeWorkspace("beta");
    await emulator.reset();
    await expect.poll(() => stream.types().at(-1)).toBe("reset");
    const records = ["handshake", "request", "conversation", "message", "delivery"];
    const others = ["workspace", "workspace-removed", "faults", "reset"];
    expect(new Set(stream.types())).toEqual(new Set([...records, ...others]));
  });

  test("masks secrets unless the request asks for them, and ends when the emulator closes", async () => {
    const { emulator, acme } = await startAcme();
    const streams = [await openStream(emulator), await openStream(emulator, "?reveal=true")] as const;
    await set(acme, (await startEndpoint()).url);
    for (const stream of streams) await expect.poll(stream.types).toContain("request");
    for (const secret of [apiKey, verificationKey]) {
      expect(streams.map(({ text }) => text().includes(secret))).toEqual([false, true]);
    }
    await emulator.close();
    for (const { ended } of streams) expect(String(await ended)).toMatch(/undefined|terminated/);
  });

  test("is closed if its client does not read", async () => {
    const { emulator, acme } = await startScene();
    const socket = createConnection(Number(new URL(emulator.url).port), "127.0.0.1");
    onTestFinished(() => void socket.destroy());
    const gone = once(socket, "close");
    socket.on("error", () => undefined);
    socket.pause();
    socket.write(`GET /_emulator/events HTTP/1.1\r\nHost: ${new URL(emulator.url).host}\r\n\r\n`);
    // The events for these messages exceed what the emulator and the sockets buffer for one client.
    const text = "x".repeat(512 * 1024);
    for (let count = 0; count < 16; count += 1) await acme.deliver({ ...reply, text });
    socket.resume();
    expect(await gone).toBeDefined();
  });
});
