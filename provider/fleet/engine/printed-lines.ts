/** Hands what is printed to stdout and stderr to `onLine`, line by line, until the returned function is called. */
export function captureLines(onLine: (line: string) => void): () => void {
  const streams = [process.stdout, process.stderr];
  const ends = streams.map((stream) => captureStream(stream, onLine));
  return () => ends.forEach((end) => end());
}

function captureStream(stream: NodeJS.WriteStream, onLine: (line: string) => void): () => void {
  const write = stream.write.bind(stream);
  let rest = "";
  stream.write = (chunk: string | Uint8Array, ...given: unknown[]): boolean => {
    const lines = (rest + (typeof chunk === "string" ? chunk : Buffer.from(chunk).toString())).split("\n");
    rest = lines.pop() ?? "";
    lines.forEach(onLine);
    const done = given.at(-1);
    if (typeof done === "function") process.nextTick(done);
    return true;
  };
  return () => {
    stream.write = write;
    if (rest !== "") onLine(rest);
  };
}
