import { testsIn, type CoverageRow, type TestReference } from "./row.ts";

const fault = testsIn("test/unit/emulator/faults.test.ts");
const message = testsIn("test/unit/emulator/messages.test.ts");
const control = testsIn("test/unit/emulator/control-routes.test.ts");

const routes = "provider/emulator/control/routes";

const route = (what: string, file: string, shownBy: TestReference): CoverageRow => ({
  section: "",
  what,
  where: [`${routes}/${file}`],
  shownBy,
});

const madeAndRemoved = control("is made, changed and removed");
const taken = control("has a registration that somebody else makes and removes, without a handshake");
const byHand = control("goes through bot_url, and is answered by an agent with a signed delivery");
const listed = control("is listed with both directions of the wire");
const one = control("of one of the %s are in clear only when asked for");
const faults = control("faults are injected, listed, and taken back one by one or all at once");
const howItRuns = control("health and settings say how it runs");
const again = control("a delivery is sent again, byte for byte");
const answered = control("%s is answered");

/** What the emulator has beside the specification: faults of each operation, and the control API. */
export const emulatorRows: readonly CoverageRow[] = [
  ...Object.entries({
    "get-webhook": fault("{ status } refuses with Retry-After and body before the change"),
    "set-webhook": fault("{ status } refuses with Retry-After and body before the change"),
    "delete-webhook": fault("{ status } refuses with Retry-After and body before the change"),
    message: message("does not strike a message with a wrong key, nor a call of the registration interface"),
    handshake: fault("%j makes it fail"),
    delivery: [
      "test/unit/emulator/delivery-faults.test.ts",
      "%j makes it fail, %i sent, and the next is delivered",
    ] as const,
  }).map(([operation, shownBy]) => ({
    section: "",
    what: `fault of ${operation}`,
    where: ["provider/emulator/faults.ts"],
    shownBy,
  })),
  route("GET /_emulator/health", "emulator.ts", howItRuns),
  route("GET /_emulator/settings", "emulator.ts", howItRuns),
  route("GET /_emulator/events", "emulator.ts", [
    "test/unit/emulator/events.test.ts",
    "tells everything as it happens, numbered, with the type as its event",
  ]),
  route("GET /_emulator/workspaces", "workspaces.ts", madeAndRemoved),
  route("POST /_emulator/workspaces", "workspaces.ts", madeAndRemoved),
  route("GET /_emulator/workspaces/{name}", "workspaces.ts", answered),
  route("PATCH /_emulator/workspaces/{name}", "workspaces.ts", madeAndRemoved),
  route("DELETE /_emulator/workspaces/{name}", "workspaces.ts", madeAndRemoved),
  route("PUT /_emulator/workspaces/{name}/registration", "workspaces.ts", taken),
  route("DELETE /_emulator/workspaces/{name}/registration", "workspaces.ts", taken),
  route("POST /_emulator/workspaces/{name}/messages", "messages.ts", byHand),
  route("POST /_emulator/workspaces/{name}/replies", "messages.ts", byHand),
  route("GET /_emulator/conversations", "records.ts", byHand),
  route("GET /_emulator/conversations/{id}/messages", "records.ts", byHand),
  route("GET /_emulator/handshakes", "records.ts", listed),
  route("GET /_emulator/handshakes/{id}", "records.ts", one),
  route("GET /_emulator/deliveries", "deliveries.ts", listed),
  route("GET /_emulator/deliveries/{id}", "deliveries.ts", one),
  route("POST /_emulator/deliveries/{id}/resend", "deliveries.ts", again),
  route("GET /_emulator/requests", "records.ts", listed),
  route("GET /_emulator/requests/{id}", "records.ts", one),
  route("GET /_emulator/faults", "faults.ts", faults),
  route("POST /_emulator/faults", "faults.ts", faults),
  route("DELETE /_emulator/faults", "faults.ts", faults),
  route("DELETE /_emulator/faults/{id}", "faults.ts", faults),
  route("POST /_emulator/reset", "emulator.ts", [
    "test/unit/emulator/wait.test.ts",
    "forgets what happened, and leaves the workspaces with their registrations",
  ]),
];
