/** The target of a flood, in its own process: accepts each delivery at once, and returns the counts for a GET. */
import { createServer } from "node:http";
import process from "node:process";
import { listen } from "../lib/listen.ts";

/** The number of each conversation's last delivery, counted from 0. */
const last = new Map<string, number>();
const counts = { arrived: 0, repeated: 0, early: 0 };

/** `early` counts deliveries that arrived before an earlier one of their conversation. */
export type Arrivals = typeof counts;

function count(conversation: string, number: number): void {
  const expected = (last.get(conversation) ?? -1) + 1;
  counts[number === expected ? "arrived" : number < expected ? "repeated" : "early"] += 1;
  last.set(conversation, Math.max(number, expected - 1));
}

const server = createServer((request, response) => {
  const { method, headers } = request;
  if (method !== "GET") count(String(headers["x-conversation"]), Number(headers["x-number"]));
  request.resume().once("end", () => response.end(method === "GET" ? JSON.stringify(counts) : ""));
});
process.send?.((await listen(server)).port);
