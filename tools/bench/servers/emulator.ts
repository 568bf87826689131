/** The emulator with one workspace, whose flow echoes to the endpoint: `emulator.ts <endpoint url>`. */
import { startEmulator } from "pulumi-apichat/emulator";
import { serveParent } from "../child.ts";
import { API_KEY, VERIFICATION_KEY } from "../settings.ts";
import type { RelayReport } from "./relay-report.ts";

const emulator = await startEmulator({
  workspaces: [{ name: "acme", apiKey: API_KEY }],
  // The load reads answers without a body.
  messageAnswer: "empty",
});
const workspace = emulator.workspace("acme");
workspace.takeOver({ webhook_url: process.argv[2] ?? "", webhook_verification_key: VERIFICATION_KEY });
serveParent((): RelayReport => ({ url: workspace.botUrl, flowApiKey: workspace.flowApiKey }));
