/** Inserts each body into SQLite, one commit a request, with the settings of the responder's spool: `bare-sqlite.ts <file>`. */
import { createServer } from "node:http";
import { DatabaseSync } from "node:sqlite";
import { serveBench } from "./listening.ts";

const database = new DatabaseSync(process.argv[2] ?? "");
database.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;");
database.exec("CREATE TABLE deliveries (id INTEGER PRIMARY KEY, body BLOB NOT NULL) STRICT");
const insert = database.prepare("INSERT INTO deliveries (body) VALUES (?)");

serveBench(
  createServer((req, res) => {
    const chunks: Buffer[] = [];
    req.on("data", (chunk: Buffer) => chunks.push(chunk));
    req.on("end", () => {
      insert.run(Buffer.concat(chunks));
      res.writeHead(200, { "content-length": 0 }).end();
    });
  }),
);
