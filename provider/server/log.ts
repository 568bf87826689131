import { appendFileSync, chmodSync, renameSync } from "node:fs";
import { fileSize } from "../lib/files.js";

type LogFields = Record<string, string | number | boolean | undefined>;

/** Writes one line for each event. It never throws: a full disk must not end the responder. */
export interface Log {
  info(event: string, fields?: LogFields): void;
  warn(event: string, fields?: LogFields): void;
  error(event: string, fields?: LogFields): void;
  /**
   * Writes at most one line per event and kind in ten seconds; its `suppressed` is the number of lines dropped before.
   * Build the kind from codes and workspaces, never from what a sender chooses, so that there are few kinds.
   */
  limited(level: "warn" | "error", event: string, kind: string, fields: LogFields): void;
}

export type LogSink = (line: string) => void;

/** The shortest time between two lines of the same event and kind from `limited`, in milliseconds. */
const SAME_LINE_MS = 10_000;

/**
 * JSON lines: `time`, `level`, `event`, then the fields. Does not redact, so no field may contain text from a
 * sender or a target, or the message of an unknown error. Redacting the keys of 30,000 workspaces would take
 * seconds. Pino is no faster than this, consists of 13 packages and would make a start 67 ms longer.
 */
export function createLog(sink: LogSink): Log {
  const write = (level: string, event: string, fields: LogFields): void => {
    try {
      sink(`${JSON.stringify({ time: new Date().toISOString(), level, event, ...fields })}\n`);
    } catch {
      // The error is dropped: the responder continues without the log, and the error could quote the line.
    }
  };
  const last = new Map<string, { atMs: number; suppressed: number }>();
  return {
    info: (event, fields = {}) => write("info", event, fields),
    warn: (event, fields = {}) => write("warn", event, fields),
    error: (event, fields = {}) => write("error", event, fields),
    limited: (level, event, kind, fields) => {
      const name = `${event} ${kind}`;
      const previous = last.get(name);
      if (previous !== undefined && performance.now() - previous.atMs < SAME_LINE_MS) {
        previous.suppressed++;
        return;
      }
      last.set(name, { atMs: performance.now(), suppressed: 0 });
      write(level, event, previous?.suppressed ? { ...fields, suppressed: previous.suppressed } : fields);
    },
  };
}

/** The message of an error from this package, SQLite or the file system; such messages never contain a key. */
export const messageOfError = (error: unknown): string =>
  error instanceof Error ? error.message : String(error);

/** The size at which a log file is rotated, in bytes. */
const FILE_BYTES = 5 * 1024 * 1024;

/** Writes to a file that only its owner can read. A full file is renamed to `<file>.1`, replacing any previous one. */
export function openLogFile(file: string, fileBytes = FILE_BYTES): LogSink {
  let size = fileSize(file);
  if (size > 0) chmodSync(file, 0o600);
  return (line) => {
    try {
      const bytes = Buffer.byteLength(line);
      if (size > 0 && size + bytes > fileBytes) {
        renameSync(file, `${file}.1`);
        size = 0;
      }
      appendFileSync(file, line, { mode: 0o600 });
      size += bytes;
    } catch (error) {
      // Not thrown, so that deliveries continue. There is no better place than stderr to report it.
      process.stderr.write(`apichat responder: the log cannot be written: ${String(error)}\n`);
    }
  };
}
