import { useSignal } from "@preact/signals";
import { choose } from "../actions.js";
import { send } from "../api.js";
import { t } from "../i18n/translate.js";
import { connection, data, workspace } from "../store.js";
import { IconButton } from "./buttons.js";
import { ConversationList } from "./conversations.js";
import { FormDialog } from "./dialog.js";
import { bound, Field } from "./field.js";
import { Registration, StatusBadge } from "./registration.js";
import { Text } from "./text.js";

/** All workspaces; of the chosen one its registration and its conversations. */
export function WorkspacePanel() {
  const creating = useSignal(false);
  const { workspaces, scope } = data.value;
  return (
    <>
      <div class="head hstack justify-between">
        <h2>{t("workspaces.heading")}</h2>
        <IconButton
          icon="plus"
          label={t("workspaces.new")}
          onClick={() => (creating.value = true)}
          testId="new-workspace"
        />
      </div>
      {workspaces.size === 0 && connection.value === "live" && (
        <p class="text-light p-4">{t("workspaces.empty")}</p>
      )}
      <ul class="list" data-testid="workspaces">
        {[...workspaces.values()].map(({ name, registration }) => (
          <li key={name}>
            <button
              type="button"
              class="ghost"
              aria-current={name === scope.workspace ? "true" : undefined}
              onClick={() => choose({ workspace: name, conversation: null })}
            >
              <strong>
                <Text>{name}</Text>
              </strong>
              <StatusBadge status={registration?.webhook_status ?? ""} />
            </button>
          </li>
        ))}
      </ul>
      {workspace.value !== null && (
        <>
          <Registration key={workspace.value.name} workspace={workspace.value} />
          <ConversationList workspace={workspace.value.name} />
        </>
      )}
      <NewWorkspace open={creating.value} onClose={() => (creating.value = false)} />
    </>
  );
}

function NewWorkspace(opened: { open: boolean; onClose: () => void }) {
  const name = useSignal("");
  const apiKey = useSignal("");
  async function create(): Promise<void> {
    await send("POST", ["workspaces"], { name: name.value, apiKey: apiKey.value });
    choose({ workspace: name.value, conversation: null });
  }
  return (
    <FormDialog {...opened} title={t("workspaces.new")} action={create} submit={t("workspaces.create")}>
      <Field
        label={t("workspaces.name")}
        hint={t("workspaces.nameHint")}
        {...bound(name)}
        pattern="[A-Za-z0-9][A-Za-z0-9._\-]*"
        required
        autofocus
      />
      <Field label={t("registration.apiKey")} {...bound(apiKey)} required />
    </FormDialog>
  );
}
