import { randomInt } from "node:crypto";
import { copyFile, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, describe, expect, it } from "vitest";
import type {
  ConversationView,
  DeliveryView,
  MessageView,
  WorkspaceView,
} from "../../dist/provider/emulator/index.js";
import { startEndpoint, VERIFICATION_KEY, type Endpoint } from "../support/endpoint.ts";
import { startEmulatorProcess, type EmulatorProcess } from "./emulator-process.ts";

const ROUNDS = 6;
const CONVERSATIONS = 4;
const API_KEY = "api-key-of-the-data-test";

const cleanUp: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of cleanUp.splice(0)) await end();
});

async function makeFile(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "apichat-emulator-data-"));
  cleanUp.push(() => rm(folder, { recursive: true }));
  return join(folder, "emulator.sqlite");
}

async function startReceiving(): Promise<Endpoint> {
  const endpoint = await startEndpoint();
  cleanUp.push(() => endpoint.close());
  return endpoint;
}

interface Answer {
  status: number;
  body: unknown;
}

/** Undefined if the emulator ended before it had answered. */
async function post(
  url: string,
  body: object,
  headers: Record<string, string> = {},
): Promise<Answer | undefined> {
  try {
    const response = await fetch(url, {
      method: "POST",
      body: JSON.stringify(body),
      headers: { "content-type": "application/json", ...headers },
    });
    const text = await response.text();
    return { status: response.status, body: text === "" ? undefined : (JSON.parse(text) as unknown) };
  } catch {
    return undefined;
  }
}

async function read<T>({ url }: EmulatorProcess, path: string): Promise<T> {
  const response = await fetch(`${url}/_emulator/${path}`);
  expect(response.status).toBe(200);
  return (await response.json()) as T;
}

/** What was acknowledged, over all rounds. */
interface Acknowledged {
  texts: string[];
  workspaces: string[];
  /** The last `webhook_url` that set-webhook has answered, and the one that was under way. */
  registered: string[];
}

/** Writes until the emulator is gone; `onWritten` is called after each acknowledgement. */
async function writeUntilGone(
  emulator: EmulatorProcess,
  acme: WorkspaceView,
  {
    round,
    endpoint,
    acknowledged,
    onWritten,
  }: { round: number; endpoint: Endpoint; acknowledged: Acknowledged; onWritten: () => void },
): Promise<void> {
  const until = async (write: (count: number) => Promise<boolean>): Promise<void> => {
    for (let count = 0; await write(count); count += 1) onWritten();
  };
  const talk = (conversation: number): Promise<void> =>
    until(async (count) => {
      const text = `round ${round}, conversation ${conversation}, message ${count}`;
      const answer = await post(acme.botUrl, messageOf(conversation, text), {
        authorization: `Bearer ${acme.flowApiKey}`,
      });
      if (answer === undefined) return false;
      expect(answer.status).toBe(200);
      acknowledged.texts.push(text);
      return true;
    });
  const register = until(async (count) => {
    const url = `${endpoint.url}/registered/${round}/${count}`;
    acknowledged.registered.push(url);
    const answer = await post(`${emulator.url}/beta/apichat?action=set-webhook`, {
      ChaveApi: API_KEY,
      webhook_url: url,
      webhook_verification_key: VERIFICATION_KEY,
    });
    if (answer === undefined) return false;
    expect(answer.status).toBe(200);
    acknowledged.registered = [url];
    return true;
  });
  const create = until(async (count) => {
    const name = `w-${round}-${count}`;
    const answer = await post(`${emulator.url}/_emulator/workspaces`, { name, apiKey: API_KEY });
    if (answer === undefined) return false;
    expect(answer.status).toBe(201);
    acknowledged.workspaces.push(name);
    return true;
  });
  await Promise.all([
    ...Array.from({ length: CONVERSATIONS }, (_, index) => talk(index + 1)),
    register,
    create,
  ]);
}

const messageOf = (conversation: number, content: string): object => ({
  event: "message_created",
  content,
  message_type: "incoming",
  sender: { id: `contact-${conversation}`, name: "Ana", type: "contact" },
  conversation_id: conversation,
});

async function readAcme(emulator: EmulatorProcess): Promise<WorkspaceView> {
  return read(emulator, "workspaces/acme?reveal=true");
}

async function readTexts(emulator: EmulatorProcess): Promise<string[]> {
  const conversations = await read<ConversationView[]>(emulator, "conversations?workspace=acme");
  const lists = conversations.map(({ id }) =>
    read<MessageView[]>(emulator, `conversations/${id}/messages?limit=10000`),
  );
  const messages = (await Promise.all(lists)).flat();
  return messages.flatMap(({ body }) => ("content" in body ? [body.content] : []));
}

/** Of a copy: opening the file itself would already fix it. */
async function checkIntegrity(file: string): Promise<unknown> {
  const copy = `${file}.copy`;
  await copyFile(file, copy);
  await copyFile(`${file}-wal`, `${copy}-wal`);
  const database = new DatabaseSync(copy);
  const found = database.prepare("PRAGMA integrity_check").all();
  database.close();
  return found;
}

describe("an emulator that keeps its data", () => {
  it("loses nothing acknowledged when it is killed at any moment, and delivers what was still to be delivered", async () => {
    const data = await makeFile();
    const endpoint = await startReceiving();
    const workspaces = [
      {
        name: "acme",
        apiKey: API_KEY,
        registration: { webhook_url: `${endpoint.url}/acme`, webhook_verification_key: VERIFICATION_KEY },
      },
      { name: "beta", apiKey: API_KEY },
    ];
    const acknowledged: Acknowledged = { texts: [], workspaces: ["acme", "beta"], registered: [] };
    let emulator = await startEmulatorProcess({ data, workspaces });
    for (let round = 1; round <= ROUNDS; round += 1) {
      let writes = randomInt(10, 120);
      const { kill } = emulator;
      let killed = Promise.resolve();
      const onWritten = (): void => {
        writes -= 1;
        if (writes === 0) killed = kill();
      };
      await writeUntilGone(emulator, await readAcme(emulator), { round, endpoint, acknowledged, onWritten });
      await killed;
      expect(await checkIntegrity(data)).toEqual([{ integrity_check: "ok" }]);

      emulator = await startEmulatorProcess({ data, workspaces });
      const texts = await readTexts(emulator);
      expect(texts).toEqual(expect.arrayContaining(acknowledged.texts));
      expect(new Set(texts).size).toBe(texts.length);
      const names = (await read<WorkspaceView[]>(emulator, "workspaces")).map(({ name }) => name);
      expect(names).toEqual(expect.arrayContaining(acknowledged.workspaces));
      const { registration } = await read<WorkspaceView>(emulator, "workspaces/beta?reveal=true");
      expect(acknowledged.registered).toContain(registration?.webhook_url);
    }
    const repliesTo = (): Set<unknown> =>
      new Set(endpoint.deliveries.map((delivery) => (delivery.kind === "text" ? delivery.message.text : "")));
    await expect
      .poll(() => acknowledged.texts.filter((text) => !repliesTo().has(text)), { timeout: 30_000 })
      .toEqual([]);
    const pending = async (): Promise<unknown[]> => {
      const deliveries = await read<DeliveryView[]>(emulator, "deliveries?workspace=acme&limit=10000");
      return deliveries.filter(({ verdict }) => verdict !== "delivered");
    };
    await expect.poll(pending, { timeout: 30_000 }).toEqual([]);
    await emulator.kill();
  });

  it("has its file for itself while it lives, and a killed one is in nobody's way", async () => {
    const data = await makeFile();
    const first = await startEmulatorProcess({ data });
    await expect(startEmulatorProcess({ data })).rejects.toThrow("another process holds the file");
    await first.kill();
    const second = await startEmulatorProcess({ data });
    await second.kill();
  });
});
