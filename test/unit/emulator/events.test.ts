import { createConnection } from "node:net";
import { once } from "node:events";
import { describe, expect, onTestFinished, test } from "vitest";
import type { Emulator, EmulatorEvent } from "../../../provider/emulator/index.js";
import { control, reply, startRegistered, token } from "./control-harness.js";
import { apiKey, set, startAcme, startEndpoint, verificationKey } from "./harness.js";

interface Stream {
  response: Response;
  /** All that came until now. */
  text: () => string;
  events: () => EmulatorEvent[];
  ended: Promise<unknown>;
}

const dataOf = (block: string): string | undefined => /^data: (.*)$/m.exec(block)?.[1];

async function openStream(
  { url }: Emulator,
  query = "",
  headers: Record<string, string> = {},
): Promise<Stream> {
  const controller = new AbortController();
  onTestFinished(() => controller.abort());
  const response = await fetch(`${url}/_emulator/events${query}`, { signal: controller.signal, headers });
  let seen = "";
  const ended = (async () => {
    const decoder = new TextDecoder();
    for await (const chunk of response.body ?? [])
      seen += decoder.decode(chunk as Uint8Array, { stream: true });
  })().catch(String);
  const events = () =>
    seen
      .split("\n\n")
      .slice(0, -1)
      .map(dataOf)
      .filter((data) => data !== undefined)
      .map((data) => JSON.parse(data) as EmulatorEvent);
  return { response, text: () => seen, events, ended };
}

const typesOf = (events: readonly EmulatorEvent[]): string[] => events.map(({ type }) => type);

describe("the live stream", () => {
  test("tells everything as it happens, numbered, with the type as its event", async () => {
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
    expect(new Set(typesOf(stream.events()))).toEqual(
      new Set([
        "handshake",
        "workspace",
        "request",
        "conversation",
        "message",
        "delivery",
        "faults",
        "workspace-removed",
        "reset",
      ]),
    );
    const ids = [...stream.text().matchAll(/^event: ([\w-]+)\ndata: .*\nid: (\d+)$/gm)];
    expect(ids.map(([, , id]) => Number(id))).toEqual(stream.events().map((_, index) => index + 1));
    expect(ids.map(([, type]) => type)).toEqual(typesOf(stream.events()));
  });

  test("sends a record again, whole and under its id, when it changes", async () => {
    const { emulator, acme } = await startRegistered();
    const stream = await openStream(emulator);
    const { id } = await acme.deliver(reply);
    const verdicts = () =>
      stream
        .events()
        .flatMap((event) =>
          event.type === "delivery" && event.delivery.id === id ? [event.delivery.verdict] : [],
        );
    await expect.poll(() => verdicts().at(-1)).toBe("delivered");
    expect(verdicts()[0]).toBe("pending");
  });

  test("masks the secrets unless it is asked to reveal them", async () => {
    const { emulator, acme } = await startAcme();
    const masked = await openStream(emulator);
    const revealing = await openStream(emulator, "?reveal=true");
    await set(acme, (await startEndpoint()).url);
    for (const stream of [masked, revealing]) {
      await expect.poll(() => typesOf(stream.events())).toContain("request");
    }
    expect(revealing.text()).toContain(apiKey);
    expect(revealing.text()).toContain(verificationKey);
    expect(masked.text()).not.toContain(apiKey);
    expect(masked.text()).not.toContain(verificationKey);
  });

  test("ends when the emulator closes", async () => {
    const { emulator } = await startAcme();
    const stream = await openStream(emulator);
    await emulator.close();
    expect(String(await stream.ended)).toMatch(/undefined|terminated/);
  });

  test("needs the token, and takes no unknown parameter", async () => {
    const { emulator } = await startAcme({ token });
    expect((await openStream(emulator)).response.status).toBe(401);
    const authorized = { authorization: `Bearer ${token}` };
    expect((await openStream(emulator, "", authorized)).response.status).toBe(200);
    expect((await openStream(emulator, "?since=1", authorized)).response.status).toBe(422);
  });

  test("is broken off where the client does not read, and the others go on", async () => {
    const { emulator, acme } = await startRegistered();
    const socket = createConnection(Number(new URL(emulator.url).port), "127.0.0.1");
    onTestFinished(() => void socket.destroy());
    const gone = once(socket, "close");
    socket.on("error", () => undefined);
    socket.pause();
    socket.write(`GET /_emulator/events HTTP/1.1\r\nHost: ${new URL(emulator.url).host}\r\n\r\n`);
    const reading = await openStream(emulator);
    const text = "x".repeat(512 * 1024);
    // Beyond what may wait and what sockets hold, each message counts several times.
    for (let count = 0; count < 16; count += 1) await acme.deliver({ ...reply, text });
    socket.resume();
    await gone;
    const last = await acme.deliver(reply);
    await expect
      .poll(() =>
        reading.events().some((event) => event.type === "delivery" && event.delivery.id === last.id),
      )
      .toBe(true);
  }, 30_000);

  test("of a HEAD request is none", async () => {
    const { emulator } = await startAcme();
    const answer = await control(emulator, "HEAD /_emulator/events");
    expect(answer.status).toBe(405);
  });
});

test("subscribe calls with each event, masked, until it is ended", async () => {
  const { emulator, acme } = await startAcme();
  const events: EmulatorEvent[] = [];
  const unsubscribe = emulator.subscribe((event) => events.push(event));
  await set(acme, (await startEndpoint()).url);
  expect(typesOf(events)).toEqual(["handshake", "workspace", "request"]);
  expect(JSON.stringify(events)).not.toContain(verificationKey);
  unsubscribe();
  acme.remove();
  expect(events).toHaveLength(3);
});
