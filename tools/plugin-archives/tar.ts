import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";

/** A file of an archive: its content as a text, or the file that holds it. */
export interface Entry {
  name: string;
  content: string | { file: string };
  isExecutable?: boolean;
}

const BLOCK = 512;

/**
 * The bytes of a tar archive (ustar). They depend on names, contents and modes only: no times, no owners, sorted by name. The command
 * `tar` has other options for that on each system.
 */
export async function* tarOf(entries: readonly Entry[]): AsyncGenerator<Uint8Array> {
  for (const entry of entries.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
    const { content } = entry;
    const isText = typeof content === "string";
    const size = isText ? Buffer.byteLength(content) : (await stat(content.file)).size;
    yield headerOf(entry, size);
    if (isText) yield Buffer.from(content);
    else yield* createReadStream(content.file, { highWaterMark: 1024 * 1024 });
    yield new Uint8Array((BLOCK - (size % BLOCK)) % BLOCK);
  }
  yield new Uint8Array(2 * BLOCK);
}

const octal = (value: number, digits: number): string => value.toString(8).padStart(digits, "0");

/** IEEE Std 1003.1, pax, "ustar Interchange Format". Numbers are octal texts. */
function headerOf({ name, isExecutable = false }: Entry, size: number): Uint8Array {
  const header = Buffer.alloc(BLOCK);
  const put = (at: number, text: string): void => void header.write(text, at, "latin1");
  put(0, name);
  put(100, isExecutable ? "0000755" : "0000644");
  put(108, octal(0, 7));
  put(116, octal(0, 7));
  put(124, octal(size, 11));
  put(136, octal(0, 11));
  // The checksum counts itself as spaces.
  put(148, " ".repeat(8));
  put(156, "0");
  put(257, "ustar\u000000");
  const sum = header.reduce((total, byte) => total + byte, 0);
  put(148, `${octal(sum, 6)}\0`);
  return header;
}
