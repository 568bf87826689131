/**
 * Why the spool could not do its work. `full`: no room on the disk. `busy`: another process held the file for too long.
 * `newer`: a later release has written the file. `foreign`: the file is not a spool. `closed`: it was closed before.
 * `failed`: anything else, such as an error of the disk.
 */
export type SpoolErrorCode = "full" | "busy" | "newer" | "foreign" | "closed" | "failed";

/** A failure of the spool: what was asked of it has not happened. Compare `code`, not the text. */
export class SpoolError extends Error {
  override readonly name = "SpoolError";
  readonly code: SpoolErrorCode;

  constructor(code: SpoolErrorCode, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.code = code;
  }
}

/** SQLite's primary result codes that mean something to us. */
const KNOWN_FAILURES: Record<number, { code: SpoolErrorCode; message: string }> = {
  5: { code: "busy", message: "another process holds the spool's file" },
  13: { code: "full", message: "the spool's disk is full: make room for it" },
  26: { code: "foreign", message: "the file is not a spool: it is no SQLite database" },
};

/** Gives SQLite's errors their code; a SpoolError stays as it is. */
export function toSpoolError(error: unknown): SpoolError {
  if (error instanceof SpoolError) return error;
  const said = error instanceof Error ? error.message : String(error);
  const failure = KNOWN_FAILURES[primaryCode(error)];
  if (failure === undefined) return new SpoolError("failed", `the spool has failed: ${said}`, error);
  return new SpoolError(failure.code, failure.message, error);
}

/** The low byte of SQLite's extended result code; 0 for another error. */
function primaryCode(error: unknown): number {
  return error instanceof Error && "errcode" in error ? Number(error.errcode) & 0xff : 0;
}
