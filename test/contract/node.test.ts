import { request as sendRequest, type ClientRequest } from "node:http";
import { text as readText } from "node:stream/consumers";
import type { Answer, Responder } from "../../provider/responder/index.js";
import { toNodeListener } from "../../provider/responder/node.js";
import { startListener } from "../support/http.ts";
import { describeResponderContract, type ReceivedAnswer, type SentRequest } from "./responder-contract.ts";

describeResponderContract("node", (responder, request) =>
  request.transfer === "broken off" ? leaveHalfWay(responder, request) : sendWhole(responder, request),
);

async function sendWhole(responder: Responder, sent: SentRequest): Promise<ReceivedAnswer> {
  const { port } = await startListener(toNodeListener(responder));
  const { body, transfer } = sent;
  const request = begin(port, sent, typeof transfer !== "string");
  const chunkBytes = typeof transfer === "string" ? Infinity : transfer.chunkBytes;
  for (let offset = 0; offset < body.length; offset += chunkBytes)
    request.write(body.subarray(offset, offset + chunkBytes));
  request.end();
  return new Promise((resolve, reject) => {
    request.on("error", reject).on("response", (response) => {
      const { statusCode: status = 0, headers } = response;
      const named = headers as ReceivedAnswer["headers"];
      resolve(readText(response).then((text) => ({ status, headers: named, body: text })));
    });
  });
}

/** Disconnects when the responder is called. No client can receive the response then, so it is recorded here. */
async function leaveHalfWay(responder: Responder, sent: SentRequest): Promise<Answer> {
  const { promise, resolve } = Promise.withResolvers<Answer>();
  const listener = toNodeListener({
    answer: async (incoming, context) => {
      const answering = responder.answer(incoming, context);
      request.destroy();
      resolve(answering);
      return answering;
    },
  });
  const { port } = await startListener(listener);
  const request = begin(port, sent, false).on("error", () => undefined);
  request.write(sent.body.subarray(0, sent.body.length / 2));
  return promise;
}

function begin(
  port: number,
  { method, target, headers, body }: SentRequest,
  isChunked: boolean,
): ClientRequest {
  const others = isChunked
    ? ["transfer-encoding", "chunked"]
    : body.length > 0
      ? ["content-length", `${body.length}`]
      : [];
  const all = [...headers.flat(), "host", "localhost", "connection", "close", ...others];
  return sendRequest({ host: "127.0.0.1", port, method, path: target, headers: all, agent: false });
}
