import { expect, it } from "vitest";
import { readAddress, writeAddress } from "../../../provider/emulator/page/address.ts";

it.each([
  { scope: { workspace: null, conversation: null }, exchange: null },
  { scope: { workspace: "acme", conversation: null }, exchange: { kind: "request", id: "r1" } as const },
  { scope: { workspace: "a&b=c#d é", conversation: "conv/1" }, exchange: null },
  { scope: { workspace: "acme", conversation: "c1" }, exchange: { kind: "delivery", id: "d&=1" } as const },
])("reads %j back from the address it is written into", ({ scope, exchange }) => {
  expect(readAddress(writeAddress(scope, exchange))).toEqual({ scope, exchange });
});

it("reads no choice from an address without one", () => {
  expect(readAddress("")).toEqual({ scope: { workspace: null, conversation: null }, exchange: null });
});
