import { reveal } from "../actions.js";
import { send } from "../api.js";
import { connection, revealed } from "../store.js";
import { FaultPanel } from "./faults.js";
import { Form } from "./form.js";
import { closePopover, Popover } from "./popover.js";

const CONNECTIONS = {
  connecting: ["warning", "Connecting"],
  live: ["success", "Live"],
  lost: ["danger", "Connection lost, reconnecting"],
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
        <label class="flex items-center gap-2">
          <input
            type="checkbox"
            checked={revealed.value}
            onChange={(event) => reveal(event.currentTarget.checked)}
            data-testid="reveal"
          />
          Show secrets
        </label>
        <FaultPanel />
        <Popover title="Reset" data-testid="open-reset">
          <Form action={reset} class="vstack">
            <p>Deletes everything except workspaces and registrations. This cannot be undone.</p>
            <button data-testid="submit">Reset now</button>
          </Form>
        </Popover>
      </div>
    </header>
  );
}

async function reset(): Promise<void> {
  await send("POST", ["reset"]);
  closePopover();
}
