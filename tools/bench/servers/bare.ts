/** The least that a receiver must do: it reads the body and checks the HMAC. */
import { createHmac, timingSafeEqual } from "node:crypto";
import { createServer } from "node:http";
import { VERIFICATION_KEY } from "../settings.ts";
import { serveBench } from "./listening.ts";

serveBench(
  createServer((req, res) => {
    const chunks: Buffer[] = [];
    req.on("data", (chunk: Buffer) => chunks.push(chunk));
    req.on("end", () => {
      const mac = createHmac("sha256", VERIFICATION_KEY).update(Buffer.concat(chunks)).digest("hex");
      const expected = Buffer.from(`sha256=${mac}`);
      const signature = Buffer.from(String(req.headers["x-hub-signature-256"]));
      const isGood = expected.length === signature.length && timingSafeEqual(expected, signature);
      res.writeHead(isGood ? 200 : 401, { "content-length": 0 }).end();
    });
  }),
);
