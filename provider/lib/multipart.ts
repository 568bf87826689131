/** It begins a line, and no value of a handshake has a line break: it cannot be in one. */
const BOUNDARY = "------------------------apichat-handshake";

/** Writes texts as a multipart form (RFC 7578). */
export function writeMultipart(fields: Record<string, string>): { contentType: string; body: string } {
  const parts = Object.entries(fields).map(
    ([name, value]) => `--${BOUNDARY}\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`,
  );
  return {
    contentType: `multipart/form-data; boundary=${BOUNDARY}`,
    body: `${parts.join("")}--${BOUNDARY}--\r\n`,
  };
}

const FIRST_LINE = /^--[^\r\n]{1,70}(?=\r\n)/;
const LAST_LINE = /^--(\r\n)?$/;
const FIELD_NAME =
  /\r\ncontent-disposition:[ \t]*form-data;[ \t]*name=(?:"([^"\r\n]*)"|([^\s";]+))[ \t]*(?:\r\n|$)/i;

/**
 * Reads the texts of a multipart form, whose first line is its boundary; files are left out, and of fields with one name the
 * first counts. Empty for what is no whole form. Takes time in proportion to the length.
 */
export function readMultipart(text: string): Map<string, string> {
  const [boundary] = FIRST_LINE.exec(text) ?? [];
  if (boundary === undefined) return new Map();
  const parts = `\r\n${text}`.split(`\r\n${boundary}`).slice(1);
  const isWhole = LAST_LINE.test(parts.pop() ?? "") && parts.every((part) => part.startsWith("\r\n"));
  return new Map(isWhole ? parts.flatMap(readPart).toReversed() : []);
}

function readPart(part: string): [name: string, value: string][] {
  const end = part.indexOf("\r\n\r\n");
  const [, quoted, bare] = FIELD_NAME.exec(part.slice(0, Math.max(end, 0))) ?? [];
  const name = quoted ?? bare;
  return name === undefined ? [] : [[name, part.slice(end + 4)]];
}
