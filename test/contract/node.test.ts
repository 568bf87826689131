import { connect, type Socket } from "node:net";
import { text as readText } from "node:stream/consumers";
import type { Answer, Responder } from "../../provider/responder/index.js";
import { toNodeListener } from "../../provider/responder/node.js";
import { head, startListener } from "../support/http.ts";
import { describeResponderContract, type ReceivedAnswer, type SentRequest } from "./responder-contract.ts";

describeResponderContract("node", (responder, request) =>
  request.transfer === "broken off" ? leaveHalfWay(responder, request) : sendWhole(responder, request),
);

async function sendWhole(responder: Responder, request: SentRequest): Promise<ReceivedAnswer> {
  const { port } = await startListener(toNodeListener(responder));
  const socket = connect(port, "127.0.0.1");
  const { body, transfer } = request;
  if (typeof transfer === "string") {
    writeHead(socket, request, body.length === 0 ? [] : [`content-length: ${body.length}`]);
    socket.write(body);
  } else {
    writeHead(socket, request, ["transfer-encoding: chunked"]);
    for (const chunk of toChunks(body, transfer.chunkBytes)) socket.write(chunk);
    socket.write("0\r\n\r\n");
  }
  return parseAnswer(await readText(socket));
}

/** Leaves when the responder is asked; what it would have answered goes nowhere, so it is taken before. */
async function leaveHalfWay(responder: Responder, request: SentRequest): Promise<ReceivedAnswer> {
  const { promise, resolve } = Promise.withResolvers<Answer>();
  const listener = toNodeListener({
    answer: async (incoming, context) => {
      const answering = responder.answer(incoming, context);
      socket.resetAndDestroy();
      resolve(answering);
      return answering;
    },
  });
  const { port } = await startListener(listener);
  const socket = connect(port, "127.0.0.1");
  const { body } = request;
  writeHead(socket, request, [`content-length: ${body.length}`]);
  socket.write(body.subarray(0, body.length / 2));
  return promise;
}

function writeHead(socket: Socket, { method, target, headers }: SentRequest, others: string[]): void {
  const lines = headers.map(([name, value]) => `${name}: ${value}`);
  socket.write(head(`${method} ${target} HTTP/1.1`, [...lines, "connection: close", ...others]));
}

function* toChunks(body: Uint8Array, chunkBytes: number): Generator<Buffer> {
  for (let offset = 0; offset < body.length; offset += chunkBytes) {
    const chunk = body.subarray(offset, offset + chunkBytes);
    yield Buffer.concat([Buffer.from(`${chunk.length.toString(16)}\r\n`), chunk, Buffer.from("\r\n")]);
  }
}

function parseAnswer(text: string): ReceivedAnswer {
  const end = text.indexOf("\r\n\r\n");
  const [statusLine = "", ...lines] = text.slice(0, end).split("\r\n");
  const headers = lines.map((line) => {
    const [name = "", ...value] = line.split(": ");
    return [name.toLowerCase(), value.join(": ")] as const;
  });
  return {
    status: Number(statusLine.split(" ")[1]),
    headers: Object.fromEntries(headers),
    body: text.slice(end + 4),
  };
}
