import { shellQuote } from "./shell-quote.js";

/** A request as the page knows it: the secrets are masked unless they are revealed. */
export interface CurlRequest {
  method: string;
  url: string;
  headers: Readonly<Record<string, string>>;
  body: string;
}

/** What curl makes itself, or what belonged to the connection. */
const LEFT_OUT = new Set([
  "host",
  "connection",
  "content-length",
  "transfer-encoding",
  "keep-alive",
  "expect",
]);

/** The curl command that sends this request again, one option a line, each word quoted for a POSIX shell. */
export function curlCommand(request: CurlRequest): string {
  const parts = [
    ...methodOptions(request),
    `--url ${shellQuote(request.url)}`,
    ...(/[[\]{}]/.test(request.url) ? ["--globoff"] : []),
    ...(/\/\./.test(request.url) ? ["--path-as-is"] : []),
    ...headerOptions(request),
    // Not --data, which would read a file for a body that starts with "@".
    ...(request.body === "" ? [] : [`--data-raw ${shellQuote(request.body)}`]),
  ];
  return `curl ${parts.join(" \\\n  ")}`;
}

function methodOptions({ method, body }: CurlRequest): string[] {
  if (method === "HEAD") return ["--head"];
  const implied = body === "" ? "GET" : "POST";
  return method === implied ? [] : [`--request ${shellQuote(method)}`];
}

function headerOptions({ headers, body }: CurlRequest): string[] {
  const entries = Object.entries(headers).filter(([name]) => !LEFT_OUT.has(name.toLowerCase()));
  const hasType = entries.some(([name]) => name.toLowerCase() === "content-type");
  const options = entries.map(([name, value]) => `--header ${shellQuote(headerLine(name, value))}`);
  // With a body curl adds the content type of forms, unless it is taken out.
  return body === "" || hasType ? options : [...options, "--header content-type:"];
}

/** For curl `name:` takes a header out; `name;` sends it empty. */
function headerLine(name: string, value: string): string {
  return value === "" ? `${name};` : `${name}: ${value}`;
}
