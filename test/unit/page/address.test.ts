import { expect, it } from "vitest";
import { readAddress, writeAddress } from "../../../provider/emulator/page/address.ts";

it.each([
  { workspace: null, conversation: null },
  { workspace: "acme", conversation: null },
  { workspace: "a&b=c#d é", conversation: "conv/1" },
])("reads %j back from the address it is written into", (scope) => {
  expect(readAddress(writeAddress(scope))).toEqual(scope);
});

it("reads no choice from an address without one", () => {
  expect(readAddress("")).toEqual({ workspace: null, conversation: null });
});
