import { describe, expect, test } from "vitest";
import { ADDRESS, problemsOf, read, SECRET, setVariable } from "./harness.ts";

const ALL = "name,baseUrl,webhookUrl,botUrl,apiKeyEnv,apiKey";
const NAMES = "name, baseUrl, webhookUrl, botUrl, apiKeyEnv, apiKey";
const NO_HEADER = `the first row must name the columns: ${NAMES}`;

describe("a list of workspaces in CSV", () => {
  test("returns the values of each row, and omits empty cells", async () => {
    setVariable("ACME_API_KEY", SECRET);
    const text = [
      ALL,
      `acme,${ADDRESS}/acme,https://chat.example/hook,https://bots.example/api/apichat/f1,ACME_API_KEY,`,
      `globex,${ADDRESS}/globex,,,,other-key`,
      `"initech","${ADDRESS}/initech?a=1,2",,"",,"a ""quoted"", key"`,
    ];
    expect(await read("fleet.csv", text.join("\n"))).toStrictEqual([
      {
        name: "acme",
        baseUrl: `${ADDRESS}/acme`,
        webhookUrl: "https://chat.example/hook",
        botUrl: "https://bots.example/api/apichat/f1",
        apiKey: SECRET,
      },
      { name: "globex", baseUrl: `${ADDRESS}/globex`, apiKey: "other-key" },
      { name: "initech", baseUrl: `${ADDRESS}/initech?a=1,2`, apiKey: 'a "quoted", key' },
    ]);
  });

  const rows = ["baseUrl,name", `${ADDRESS}/1,acme`, `${ADDRESS}/2,globex`];
  const marked = `\uFEFF${rows.join("\r\n")}\r\n`;
  test.each([
    ["columns in a different order", "list.csv", rows.join("\n")],
    ["a byte order mark, CRLF and an upper-case extension", "LIST.CSV", marked],
    ["CR alone", "list.csv", rows.join("\r")],
    ["line breaks of several kinds", "list.csv", `${rows[0]}\r\n${rows[1]}\n${rows[2]}\r\n`],
    ["blank lines and empty rows", "list.csv", `\n  \n${rows.join("\n\n,\n \t\n")}\n,\n\n`],
    ["semicolons", "list.csv", rows.join("\n").replaceAll(",", ";")],
    ["whitespace around cells", "list.csv", rows.join("\n").replaceAll(",", " ,\t")],
    ["quotes around everything", "list.csv", rows.join("\n").replaceAll(/[^,\n]+/g, '"$&"')],
  ])("is read with %s", async (_, fileName, text) => {
    expect(await read(fileName, text)).toEqual([
      { name: "acme", baseUrl: `${ADDRESS}/1` },
      { name: "globex", baseUrl: `${ADDRESS}/2` },
    ]);
  });

  test("reports all problems at once, with line and column but without values", async () => {
    const lines = [
      "name,baseUrl,webhokUrl,apiKeyEnv,apiKey",
      `acme,${ADDRESS}/acme,,,`,
      "",
      `${SECRET} !,platform.example/x?token=${SECRET},,NO_API_KEY,${SECRET}`,
      `acme,${ADDRESS}/acme/,,,`,
      `initech,${ADDRESS}/initech,${SECRET}`,
      `,"http://${SECRET}@platform.example/y",,,"${SECRET}\n"`,
      `hooli,${SECRET},x,,`,
      `stark,eyJ.${SECRET}.x,x,,`,
    ];
    const problems = await problemsOf("fleet.csv", lines.join("\n"));
    expect(problems.map((line) => line.replace(/^fleet\.csv:|, (got \d|the first a).*/g, ""))).toEqual([
      `1: webhokUrl: is not one of the columns ${NAMES}`,
      '2: baseUrl: reaches the same workspace as "acme", with the same API key',
      '4: name: must be 1 to 64 of A-Z, a-z, 0-9, ".", "_", "-"',
      '4: baseUrl: must be an absolute http or https URL, got "platform.example/x"',
      "4: apiKeyEnv: must be the name of an environment variable that is set",
      "4: apiKey: cannot be combined with apiKeyEnv",
      "5: name: is there more than once",
      '5: baseUrl: reaches the same workspace as "acme", with the same API key',
      "6: has 3 cells, and the first row has 5",
      "7: name: is missing",
      expect.stringMatching(/^7: baseUrl: must be a URL without user name and password/),
      "7: apiKey: must be without leading or trailing whitespace",
      "9: baseUrl: must be an absolute http or https URL, got text that is not shown, because it may be a key",
      "10: baseUrl: must be an absolute http or https URL, got text that is not shown, because it may be a key",
    ]);
  });

  test.each([
    ["nothing", "", [`1: ${NO_HEADER}`]],
    ["only a header row", "name,baseUrl\n", ["1: must have at least one row below it"]],
    ["no first row", `\n${SECRET},x\n`, [`2: ${NO_HEADER}`]],
    ["no column for a needed field: once", "name,apiKey\na,\nb,\n", ["1: baseUrl: the column is missing"]],
    [
      "a column twice",
      `name,baseUrl,name\nacme,${ADDRESS}/1,globex\n`,
      ["1: name: the column appears twice"],
    ],
    [
      "a value in place of a column name",
      `name,baseUrl,${SECRET}\nacme,${ADDRESS}/1,\n`,
      [`1: the name of column 3 is not one of the columns ${NAMES}`],
    ],
    [
      "an open quote, at the start of its row",
      `name,baseUrl\n"a",${ADDRESS}/1\n\n"${SECRET},${ADDRESS}/2\nb,\n`,
      ["4: a quote is not closed, or is inside a cell"],
    ],
    [
      "a quote inside a cell",
      `name,baseUrl\n"a\n",${ADDRESS}/1\n${SECRET}"b,\n`,
      ["4: a quote is not closed, or is inside a cell"],
    ],
  ])("is rejected with %s", async (_, text, problems) => {
    expect(await problemsOf("fleet.csv", text)).toEqual(problems.map((problem) => `fleet.csv:${problem}`));
  });

  test("requires a webhook URL for each workspace of a plan", async () => {
    const row = `a b,${ADDRESS}/1`;
    expect(await problemsOf("fleet.csv", `name,baseUrl\n${row}\n`, "plan")).toEqual([
      "fleet.csv:1: webhookUrl: the column is missing",
    ]);
    expect(await problemsOf("fleet.csv", `name,baseUrl,webhookUrl\n${row},\n`, "plan")).toEqual([
      "fleet.csv:2: webhookUrl: is missing",
    ]);
    const webhookUrl = "https://chat.example/hook";
    expect(await read("fleet.csv", `name,baseUrl,webhookUrl\n${row},${webhookUrl}\n`, "plan")).toEqual([
      { name: "a b", baseUrl: `${ADDRESS}/1`, webhookUrl },
    ]);
  });
});
