import { join } from "node:path";
import { beforeEach, expect, it } from "vitest";
import type {
  ConversationView,
  DeliveryRecord,
  MessageRecord,
  WorkspaceView,
} from "../../dist/provider/emulator/index.js";
import { startEndpoint, VERIFICATION_KEY } from "../support/endpoint.ts";
import { makeWriter, startLive } from "./cli-harness.ts";
import { makeFolder } from "./program.ts";

/** The emulator is killed after this many writes of each round, while others are in progress. */
const WRITES = [10, 60, 110];
const CONVERSATIONS = 4;
const API_KEY = "api-key-of-the-data-test";

let data: string;
beforeEach(async () => {
  data = join(await makeFolder(), "emulator.sqlite");
});

/** Starts an emulator with this file, until it is killed. */
async function startEmulator(seed: object = {}) {
  const writeFile = await makeWriter();
  const file = await writeFile("seed.json", JSON.stringify(seed));
  const free = ["--port=0", "--bot-port=0", "--json", "--quiet"];
  const { waitForJson, end } = startLive(["emulator", ...free, "--data", data, "--seed", file]);
  const { url } = await waitForJson<{ url: string }>(({ type }) => type === "started");
  const read = async <T>(path: string): Promise<T> => {
    const response = await fetch(`${url}/_emulator/${path}`);
    expect(response.status).toBe(200);
    return (await response.json()) as T;
  };
  return { url, read, kill: () => end("SIGKILL") };
}

type Emulator = Awaited<ReturnType<typeof startEmulator>>;

/** Returns the status of the response, or undefined if the emulator ended before it. */
async function post(url: string, body: object, authorization = ""): Promise<number | undefined> {
  try {
    const headers = { "content-type": "application/json", authorization };
    const response = await fetch(url, { method: "POST", body: JSON.stringify(body), headers });
    await response.text();
    return response.status;
  } catch {
    return undefined;
  }
}

/** Everything that was acknowledged, over all rounds. */
interface Acknowledged {
  texts: string[];
  workspaces: string[];
}

/** Writes messages and workspaces concurrently until the emulator is gone; calls `onWritten` after each. */
async function writeUntilGone(
  { url, read }: Emulator,
  { round, acknowledged, onWritten }: { round: number; acknowledged: Acknowledged; onWritten: () => void },
): Promise<void> {
  const { botUrl, flowApiKey } = await read<WorkspaceView>("workspaces/acme?reveal=true");
  /** Writes one after the other until a response is missing. */
  const repeat = async (
    list: string[],
    prefix: string,
    write: (name: string) => Promise<number | undefined>,
  ): Promise<void> => {
    for (let count = 0; ; count += 1) {
      const name = `${prefix}-${count}`;
      const status = await write(name);
      if (status === undefined) return;
      expect([200, 201]).toContain(status);
      list.push(name);
      onWritten();
    }
  };
  const talks = Array.from({ length: CONVERSATIONS }, (_, conversation) =>
    repeat(acknowledged.texts, `m-${round}-${conversation}`, (text) =>
      post(botUrl, messageOf(conversation, text), `Bearer ${flowApiKey}`),
    ),
  );
  const create = repeat(acknowledged.workspaces, `w-${round}`, (name) =>
    post(`${url}/_emulator/workspaces`, { name, apiKey: API_KEY }),
  );
  await Promise.all([...talks, create]);
}

const messageOf = (conversation: number, content: string): object => ({
  event: "message_created",
  content,
  message_type: "incoming",
  sender: { id: `contact-${conversation}`, name: "Ana", type: "contact" },
  conversation_id: conversation,
});

async function readTexts({ read }: Emulator): Promise<string[]> {
  const conversations = await read<ConversationView[]>("conversations?workspace=acme");
  const lists = conversations.map(({ id }) =>
    read<MessageRecord[]>(`conversations/${id}/messages?limit=10000`),
  );
  const messages = (await Promise.all(lists)).flat();
  return messages.flatMap(({ body }) => ("content" in body ? [body.content] : []));
}

it("loses nothing acknowledged when it is killed during writes, and delivers what was waiting", async () => {
  const endpoint = await startEndpoint();
  const registration = { webhook_url: `${endpoint.url}/acme`, webhook_verification_key: VERIFICATION_KEY };
  const seed = { workspaces: [{ name: "acme", apiKey: API_KEY, registration }] };
  const acknowledged: Acknowledged = { texts: [], workspaces: ["acme"] };
  let emulator = await startEmulator(seed);
  for (const [round, count] of WRITES.entries()) {
    let writes = count;
    const { kill } = emulator;
    let killed: Promise<unknown> = Promise.resolve();
    const onWritten = (): void => {
      writes -= 1;
      if (writes === 0) killed = kill();
    };
    await writeUntilGone(emulator, { round, acknowledged, onWritten });
    await killed;
    emulator = await startEmulator(seed);
    const texts = await readTexts(emulator);
    expect(texts).toEqual(expect.arrayContaining(acknowledged.texts));
    expect(new Set(texts).size).toBe(texts.length);
    const names = (await emulator.read<WorkspaceView[]>("workspaces")).map(({ name }) => name);
    expect(names).toEqual(expect.arrayContaining(acknowledged.workspaces));
  }
  const repliesTo = (): Set<unknown> =>
    new Set(endpoint.deliveries.map((delivery) => (delivery.kind === "text" ? delivery.message.text : "")));
  await expect
    .poll(() => acknowledged.texts.filter((text) => !repliesTo().has(text)), { timeout: 30_000 })
    .toEqual([]);
  const pending = async (): Promise<unknown[]> => {
    const deliveries = await emulator.read<DeliveryRecord[]>("deliveries?workspace=acme&limit=10000");
    return deliveries.filter(({ verdict }) => verdict !== "delivered");
  };
  await expect.poll(pending, { timeout: 30_000 }).toEqual([]);
});
