import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";

/**
 * The open connections of a server, at most this many. One more takes the place of the connection that has waited
 * longest for its sender: an idle one first, then one whose request is incomplete. If every connection waits for a
 * response, the new one is closed. So no client can keep others out by holding connections open.
 */
export class Connections {
  readonly #limit: number;
  /** The last response on each connection, if any. The connections that have sent nothing for longest come first. */
  readonly #responses = new Map<Socket, ServerResponse | undefined>();

  constructor(limit: number) {
    this.#limit = limit;
  }

  accept(socket: Socket): void {
    if (this.#responses.size >= this.#limit) {
      const loser = this.#find(isIdle) ?? this.#find(isIncomplete) ?? socket;
      this.#responses.delete(loser);
      loser.destroy();
      if (loser === socket) return;
    }
    this.#responses.set(socket, undefined);
    socket.once("close", () => this.#responses.delete(socket));
  }

  /** Notes that a request has begun. */
  noteRequest(response: ServerResponse): void {
    const { socket } = response.req;
    this.#responses.delete(socket);
    this.#responses.set(socket, response);
  }

  /** Whether a response that is in progress is the last one of its connection. */
  isEnding(socket: Socket): boolean {
    const response = this.#responses.get(socket);
    return !isIdle(response) && response?.getHeader("connection") === "close";
  }

  /** Makes every response in progress the last one of its connection, where its head is not sent yet. */
  endAfterResponses(): void {
    for (const response of this.#responses.values())
      if (response !== undefined && !response.headersSent) response.setHeader("connection", "close");
  }

  #find(isWanted: (response: ServerResponse | undefined) => boolean): Socket | undefined {
    for (const [socket, response] of this.#responses) if (isWanted(response)) return socket;
    return undefined;
  }
}

const isIdle = (response: ServerResponse | undefined): boolean => response?.writableFinished ?? true;

const isIncomplete = (response: ServerResponse | undefined): boolean => response?.req.complete === false;
