import { execFileSync } from "node:child_process";
import { expect, it } from "vitest";
import { curlCommand, shellQuote } from "../../../provider/emulator/page/curl.ts";

/** Returns the arguments that a shell passes to `curl`, which prints each one on its own line. */
function wordsIn(command: string): string[] {
  const script = `curl() { for word in "$@"; do printf '%s\\n--end--\\n' "$word"; done; }\n${command}`;
  const options = { stdio: "pipe", encoding: "utf8", env: { LC_ALL: "C.UTF-8" } } as const;
  const output = execFileSync("bash", ["--norc", "-c", script], options);
  return output.split("\n--end--\n").slice(0, -1);
}

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
])("quotes %j as one word, without a control character", (text) => {
  expect(wordsIn(`curl ${shellQuote(text)}`)).toEqual([text]);
  // A control character would affect the terminal into which the command is pasted.
  expect(shellQuote(text)).not.toMatch(/(?!\n)\p{Cc}/u);
});

it("keeps curl from reading patterns and dots in the address", () => {
  const command = curlCommand({ method: "GET", url: "http://[::1]/a/../{b}", headers: {}, body: "" });
  expect(wordsIn(command)).toEqual(
    "--request GET --url http://[::1]/a/../{b} --globoff --path-as-is".split(" "),
  );
});
