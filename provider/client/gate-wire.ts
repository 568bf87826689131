import type { Socket } from "node:net";
import * as z from "zod";

/** Longer than any line that is sent. Whoever sends a longer one is cut off. */
const LINE_LIMIT = 8 * 1024;

/** The longest pause that can be told. */
export const LONGEST_PAUSE_MS = 24 * 60 * 60 * 1000;

const id = z.int().min(1);

/** What a process says to the gate: `leave` gives a place back, or gives up waiting for it. */
export const gateRequest = z.discriminatedUnion("type", [
  z.strictObject({
    type: z.literal("enter"),
    /** Names the place until it is left. Used once in a connection. */
    id,
    origin: z.string().min(1).max(2048),
    operation: z.string().regex(/^[a-z-]{1,40}$/),
  }),
  z.strictObject({
    type: z.literal("leave"),
    id,
    answer429: z.strictObject({ pauseMs: z.int().min(0).max(LONGEST_PAUSE_MS) }).optional(),
  }),
]);

/** What the gate says to a process. */
export const gateAnswer = z.discriminatedUnion("type", [
  z.strictObject({ type: z.literal("entered"), id }),
  z.strictObject({ type: z.literal("refused"), id, reason: z.string().max(1024) }),
]);

export type GateRequest = z.infer<typeof gateRequest>;
export type GateAnswer = z.infer<typeof gateAnswer>;

export interface MessageReader<Message> {
  shape: z.ZodType<Message>;
  onMessage: (message: Message) => void;
  /** Called once, with the connection ended, if something else than such messages came. */
  onNonsense: () => void;
}

/** Reads messages, one JSON value a line. Ends the connection at the first line that is none. */
export function readMessages<Message>(socket: Socket, reader: MessageReader<Message>): void {
  let rest = "";
  socket.setEncoding("utf8");
  socket.on("data", (chunk: string) => {
    const lines = (rest + chunk).split("\n");
    rest = lines.pop() ?? "";
    const isSound = lines.every((line) => readLine(line, reader)) && rest.length <= LINE_LIMIT;
    if (isSound) return;
    socket.removeAllListeners("data");
    socket.destroy();
    reader.onNonsense();
  });
}

function readLine<Message>(line: string, { shape, onMessage }: MessageReader<Message>): boolean {
  const { success, data } = shape.safeParse(line.length <= LINE_LIMIT ? parseJson(line) : undefined);
  if (success) onMessage(data);
  return success;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Sends a message, unless the connection has ended. */
export function writeMessage(socket: Socket, message: GateRequest | GateAnswer): void {
  if (socket.writable) socket.write(`${JSON.stringify(message)}\n`);
}
