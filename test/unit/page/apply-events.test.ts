import { expect, it } from "vitest";
import type { EmulatorEvent } from "../../../provider/emulator/control/shapes.ts";
import {
  applyEvents,
  byId,
  emptyData,
  KEPT_RECORDS,
  type Data,
} from "../../../provider/emulator/page/apply-events.ts";
import { view } from "./views.ts";

const scope = { workspace: "acme", conversation: "c1" };

const filled: readonly EmulatorEvent[] = [
  { type: "workspace", workspace: view.workspace() },
  { type: "workspace", workspace: view.workspace({ name: "beta" }) },
  { type: "conversation", conversation: view.conversation() },
  { type: "conversation", conversation: view.conversation({ id: "c2", workspace: "beta" }) },
  { type: "message", message: view.message() },
  { type: "handshake", handshake: view.handshake() },
  { type: "delivery", delivery: view.delivery({ verdict: "pending" }) },
  { type: "request", request: view.request({ response: null }) },
];

const idsOf = (data: Data) =>
  Object.fromEntries(
    Object.entries(data).flatMap(([name, held]) => (held instanceof Map ? [[name, [...held.keys()]]] : [])),
  );

it("adds every record that comes", () => {
  expect(idsOf(applyEvents(emptyData(scope), filled))).toEqual({
    workspaces: ["acme", "beta"],
    conversations: ["c1", "c2"],
    messages: ["m1"],
    handshakes: ["h1"],
    deliveries: ["d1"],
    requests: ["r1"],
  });
});

it("puts a changed record in place of what it was", () => {
  const data = applyEvents(emptyData(scope), [
    ...filled,
    { type: "delivery", delivery: view.delivery({ verdict: "failed", reason: "status 401" }) },
    { type: "request", request: view.request() },
    { type: "workspace", workspace: view.workspace({ flow: "menu" }) },
  ]);
  expect([...data.deliveries.values()]).toMatchObject([{ verdict: "failed", reason: "status 401" }]);
  expect([...data.requests.values()]).toMatchObject([{ response: { status: 200 } }]);
  expect(data.workspaces.get("acme")?.flow).toBe("menu");
});

it("comes to the same when events come twice, and does not change what was there before", () => {
  const before = applyEvents(emptyData(scope), filled);
  const copy = structuredClone(before);
  expect(applyEvents(before, filled)).toEqual(before);
  applyEvents(before, [{ type: "workspace-removed", name: "acme" }, { type: "reset" }]);
  expect(before).toEqual(copy);
});

it.each<EmulatorEvent>([
  { type: "message", message: view.message({ conversation: "c2" }) },
  { type: "handshake", handshake: view.handshake({ workspace: "beta" }) },
  { type: "delivery", delivery: view.delivery({ workspace: "beta" }) },
  { type: "request", request: view.request({ workspace: "beta" }) },
  { type: "request", request: view.request({ workspace: null }) },
])("keeps no $type of another workspace or conversation", (event) => {
  expect(applyEvents(emptyData(scope), [event])).toEqual(emptyData(scope));
});

it("forgets a removed workspace with all that belongs to it, and keeps the choice of another", () => {
  const [ours, other] = ["acme", "beta"].map((name) =>
    applyEvents(emptyData(scope), [...filled, { type: "workspace-removed", name }]),
  ) as [Data, Data];
  expect(ours.scope).toEqual({ workspace: null, conversation: null });
  expect(idsOf(ours)).toEqual({ ...idsOf(emptyData(scope)), workspaces: ["beta"], conversations: ["c2"] });
  expect(other.scope).toEqual(scope);
  expect(idsOf(other)).toMatchObject({ workspaces: ["acme"], conversations: ["c1"], messages: ["m1"] });
});

it("takes the faults as they are now", () => {
  const fault = { id: "f1", operation: "message", fault: "html", left: 1, matched: 0 } as const;
  const broken = applyEvents(emptyData(scope), [{ type: "faults", faults: [fault] }]);
  expect(broken.faults).toEqual([fault]);
  expect(applyEvents(broken, [{ type: "faults", faults: [] }]).faults).toEqual([]);
});

it("has no records and no faults after a reset, but those that come after it", () => {
  const data = applyEvents(emptyData(scope), [...filled, { type: "reset" }]);
  expect(data).toEqual({ ...emptyData(scope), workspaces: data.workspaces });
  const message = { type: "message", message: view.message() } as const;
  expect(idsOf(applyEvents(data, [{ type: "reset" }, message]))).toMatchObject({ messages: ["m1"] });
});

it("keeps the newest records of a page that stays open", () => {
  const events = Array.from({ length: KEPT_RECORDS + 2 }, (_, index): EmulatorEvent => {
    return { type: "request", request: view.request({ id: `r${index}`, order: index }) };
  });
  const kept = [...applyEvents(emptyData(scope), events).requests.keys()];
  expect(kept).toHaveLength(KEPT_RECORDS);
  expect(kept[0]).toBe("r2");
});

it("reads a list in any order as oldest first", () => {
  const list = [view.request({ id: "b", order: 2 }), view.request({ id: "a", order: 1 })];
  expect([...byId(list).keys()]).toEqual(["a", "b"]);
});
