import type { HttpMessage } from "../service/outgoing.js";

interface CurlRequest extends HttpMessage {
  method: string;
  url: string;
}

/** Headers that curl writes itself, or that belong to the connection. */
const SKIPPED = /^(?:host|connection|content-length|transfer-encoding|keep-alive|expect)$/i;

/**
 * Returns the curl command that sends this request again: one option per line, each word quoted for a POSIX
 * shell. The address is sent as it is, without patterns (`--globoff`) and with its dots (`--path-as-is`).
 */
export function curlCommand(request: CurlRequest): string {
  const { method, url, body } = request;
  const parts = [
    method === "HEAD" ? "--head" : `--request ${shellQuote(method)}`,
    `--url ${shellQuote(url)}`,
    "--globoff",
    "--path-as-is",
    ...headerOptions(request),
    // Not --data, which would read a file for a body that starts with "@".
    ...(body === "" ? [] : [`--data-raw ${shellQuote(body)}`]),
  ];
  return `curl ${parts.join(" \\\n  ")}`;
}

function headerOptions({ headers, body }: CurlRequest): string[] {
  const entries = Object.entries(headers).filter(([name]) => !SKIPPED.test(name));
  const hasType = entries.some(([name]) => name.toLowerCase() === "content-type");
  // For curl `name:` removes a header; `name;` sends it empty.
  const lines = entries.map(([name, value]) => (value === "" ? `${name};` : `${name}: ${value}`));
  const options = lines.map((line) => `--header ${shellQuote(line)}`);
  // With a body curl adds the content type of forms, unless it is removed.
  return body === "" || hasType ? options : [...options, "--header content-type:"];
}

/** Plain in every shell: no quotes needed. */
const PLAIN = /^[A-Za-z0-9_\-+=:,./@%]+$/;

/** A terminal interprets these when they are pasted, quoted or not: an escape sequence can end the paste. */
const ACTING = /(?!\n)\p{Cc}/u;

/**
 * Quotes a text as one word of a POSIX shell. With control characters it is written as `$'…'`, which bash,
 * zsh and ksh know, so that a paste contains none of them.
 */
export function shellQuote(text: string): string {
  if (ACTING.test(text)) {
    return `$'${text.replaceAll(/[\\']/g, String.raw`\$&`).replaceAll(/\p{Cc}/gu, escapeControl)}'`;
  }
  return PLAIN.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

/** A C1 control is two bytes in UTF-8: `\x` would write one. */
function escapeControl(char: string): string {
  const code = char.charCodeAt(0).toString(16);
  return char > "\x7f" ? `\\u${code.padStart(4, "0")}` : `\\x${code.padStart(2, "0")}`;
}
