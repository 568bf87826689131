import { testsIn, type CoverageRow, type TestReference } from "./row.ts";

const fault = testsIn("test/unit/emulator/faults.test.ts");
const message = testsIn("test/unit/emulator/messages.test.ts");
const control = testsIn("test/unit/emulator/control-routes.test.ts");

const folder = "provider/emulator/control";

const route = (what: string, file: string, shownBy: TestReference): CoverageRow => ({
  section: "",
  what,
  where: [`${folder}/${file}`],
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
    message: message("is not that of a message with a wrong key, nor a call of the registration interface"),
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
  route("GET /_emulator/health", "routes.ts", howItRuns),
  route("GET /_emulator/settings", "routes.ts", howItRuns),
  route("GET /_emulator/events", "routes.ts", [
    "test/unit/emulator/events.test.ts",
    "tells everything as it happens, numbered, with the type as its event",
  ]),
  route("GET /_emulator/workspaces", "routes.ts", madeAndRemoved),
  route("POST /_emulator/workspaces", "routes.ts", madeAndRemoved),
  route("GET /_emulator/workspaces/{name}", "routes.ts", answered),
  route("PATCH /_emulator/workspaces/{name}", "routes.ts", madeAndRemoved),
  route("DELETE /_emulator/workspaces/{name}", "routes.ts", madeAndRemoved),
  route("PUT /_emulator/workspaces/{name}/registration", "routes.ts", taken),
  route("DELETE /_emulator/workspaces/{name}/registration", "routes.ts", taken),
  route("POST /_emulator/workspaces/{name}/messages", "routes.ts", byHand),
  route("POST /_emulator/workspaces/{name}/replies", "routes.ts", byHand),
  route("GET /_emulator/conversations", "record-routes.ts", byHand),
  route("GET /_emulator/conversations/{id}/messages", "record-routes.ts", byHand),
  route("GET /_emulator/handshakes", "record-routes.ts", listed),
  route("GET /_emulator/handshakes/{id}", "record-routes.ts", one),
  route("GET /_emulator/deliveries", "record-routes.ts", listed),
  route("GET /_emulator/deliveries/{id}", "record-routes.ts", one),
  route("POST /_emulator/deliveries/{id}/resend", "record-routes.ts", again),
  route("GET /_emulator/requests", "record-routes.ts", listed),
  route("GET /_emulator/requests/{id}", "record-routes.ts", one),
  route("GET /_emulator/faults", "routes.ts", faults),
  route("POST /_emulator/faults", "routes.ts", faults),
  route("DELETE /_emulator/faults", "routes.ts", faults),
  route("DELETE /_emulator/faults/{id}", "routes.ts", faults),
  route("POST /_emulator/reset", "routes.ts", [
    "test/unit/emulator/wait.test.ts",
    "forgets what happened, and leaves the workspaces with their registrations",
  ]),
];
