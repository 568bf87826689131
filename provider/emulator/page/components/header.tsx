import { reveal } from "../actions.js";
import { send } from "../api.js";
import { showDone } from "../notices.js";
import { connection, revealed } from "../store.js";
import { FormDialog } from "./dialog.js";
import { FaultPanel } from "./faults.js";
import { Check } from "./form.js";

const CONNECTIONS = {
  connecting: ["warning", "Connecting"],
  live: ["success", "Live"],
  lost: ["danger", "Connection lost, trying again"],
} as const;

export function Header() {
  const [variant, state] = CONNECTIONS[connection.value];
  return (
    <header class="head hstack justify-between">
      <div class="hstack">
        <h1>API Channel emulator</h1>
        <p class="badge" data-variant={variant} role="status" data-testid="connection">
          {state}
        </p>
      </div>
      <div class="hstack gap-2">
        <Check checked={revealed.value} onChange={reveal} data-testid="reveal">
          Show secrets
        </Check>
        <FaultPanel />
        <ResetDialog />
      </div>
    </header>
  );
}

function ResetDialog() {
  return (
    <FormDialog
      title="Reset"
      data-testid="open-reset"
      action={async () => {
        await send("POST", ["reset"]);
        showDone("The emulator is reset.");
      }}
      submit="Reset now"
    >
      <p>Deletes everything except workspaces and registrations. This cannot be undone.</p>
    </FormDialog>
  );
}
