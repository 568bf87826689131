import { describe, expect, test } from "vitest";
import { errorOf, runCli } from "./cli-harness.ts";

describe("what the command line does not know", () => {
  test.each<[string, string]>([
    ["frob", "unknown command 'frob'; see apichat --help"],
    ["webhook frob", "unknown command 'frob'; see apichat webhook --help"],
    ["send frob", "unknown command 'frob'; see apichat send --help"],
    ["webhook get --frob", "unknown option '--frob'; see apichat webhook get --help"],
    ["verify", "missing required argument 'url'; see apichat verify --help"],
  ])("apichat %s is wrong use, and says where the help is", async (words, message) => {
    const said = await runCli([...words.split(" "), "--json"]);
    expect(said).toMatchObject({ exitCode: 2, stdout: "" });
    expect(errorOf(said)).toEqual({ code: "wrong_use", message });
  });
});
