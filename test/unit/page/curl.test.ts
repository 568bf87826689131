import { execFileSync } from "node:child_process";
import { expect, it } from "vitest";
import { curlCommand, shellQuote } from "../../../provider/emulator/page/curl.ts";

/** What a shell makes of the words of a command: `curl` prints its arguments here, each ended by a line of its own. */
function wordsIn(command: string): string[] {
  const script = `curl() { for word in "$@"; do printf '%s\\n--end--\\n' "$word"; done; }\n${command}`;
  const options = { stdio: "pipe", encoding: "utf8", env: { LC_ALL: "C.UTF-8" } } as const;
  const output = execFileSync("bash", ["--norc", "-c", script], options);
  return output.split("\n--end--\n").slice(0, -1);
}

it("gives the method, address, headers and body of the request", () => {
  const command = curlCommand({
    method: "POST",
    url: "http://127.0.0.1:8080/webhook?a=1&b=2",
    headers: { "content-type": "application/json", "x-action": "messages" },
    body: '{"text":"Olá, it\'s me"}',
  });
  const address = ["--url", "http://127.0.0.1:8080/webhook?a=1&b=2"];
  const headers = ["--header", "content-type: application/json", "--header", "x-action: messages"];
  expect(wordsIn(command)).toEqual([...address, ...headers, "--data-raw", '{"text":"Olá, it\'s me"}']);
});

it.each([
  "plain",
  "",
  'it\'s $HOME `id` $(id) "x" \\ !',
  "two\nlines\n",
  "'; rm -rf ~; '",
  "\u001b[201~ls\u0003\r\t",
  "C1 \u009b31m and a quote ' and a backslash \\",
  "-o /tmp/x",
  "@/etc/passwd",
  "~",
  "a*b?[c]{d,e}",
  "🙂 ação",
])("makes one word of %j, without a control character", (text) => {
  expect(wordsIn(`curl ${shellQuote(text)}`)).toEqual([text]);
  // A control character would act on the terminal into which the command is pasted.
  expect(shellQuote(text)).not.toMatch(/(?!\n)\p{Cc}/u);
});

it("leaves out what curl makes itself, and adds no content type of its own", () => {
  const command = curlCommand({
    method: "POST",
    url: "http://localhost/",
    headers: { Host: "localhost", "Content-Length": "2", Connection: "keep-alive", "X-Empty": "" },
    body: "{}",
  });
  const headers = ["--header", "X-Empty;", "--header", "content-type:"];
  expect(wordsIn(command)).toEqual(["--url", "http://localhost/", ...headers, "--data-raw", "{}"]);
});

it("names a method that the body does not imply", () => {
  const request = { url: "http://localhost/", headers: {}, body: "" };
  expect(wordsIn(curlCommand({ ...request, method: "GET" }))).toEqual(["--url", "http://localhost/"]);
  expect(wordsIn(curlCommand({ ...request, method: "POST" }))).toContain("POST");
  expect(wordsIn(curlCommand({ ...request, method: "HEAD" }))).toContain("--head");
});

it("keeps curl from reading patterns and dots in the address", () => {
  const command = curlCommand({ method: "GET", url: "http://[::1]/a/../{b}", headers: {}, body: "" });
  expect(wordsIn(command)).toEqual(["--url", "http://[::1]/a/../{b}", "--globoff", "--path-as-is"]);
});
