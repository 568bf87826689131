/** The least that a server must do to refuse a body: it reads it. */
import { createServer } from "node:http";
import { serveBench } from "./listening.ts";

serveBench(
  createServer((req, res) => {
    const chunks: Buffer[] = [];
    req.on("data", (chunk: Buffer) => chunks.push(chunk));
    req.on("end", () => {
      Buffer.concat(chunks);
      res.writeHead(401, { "content-length": 0 }).end();
    });
  }),
);
