import { useSignal } from "@preact/signals";
import { choose } from "../actions.js";
import { t } from "../i18n/translate.js";
import { connection, data, workspace } from "../store.js";
import { ConversationList } from "./conversation-list.js";
import { Icon } from "./icon.js";
import { NewWorkspace } from "./new-workspace.js";
import { Registration } from "./registration.js";
import { Text } from "./text.js";

/** All workspaces; of the chosen one its registration and its conversations. */
export function WorkspacePanel() {
  const creating = useSignal(false);
  const { workspaces, scope } = data.value;
  return (
    <>
      <div class="section-head">
        <h2>{t("workspaces.heading")}</h2>
        <button
          type="button"
          class="quiet"
          aria-label={t("workspaces.new")}
          title={t("workspaces.new")}
          onClick={() => (creating.value = true)}
          data-testid="new-workspace"
        >
          <Icon name="plus" />
        </button>
      </div>
      {workspaces.size === 0 && connection.value === "live" && (
        <p class="muted padded">{t("workspaces.empty")}</p>
      )}
      <ul class="list workspaces" data-testid="workspaces">
        {[...workspaces.values()].map(({ name, registration }) => (
          <li key={name}>
            <button
              type="button"
              class="list-item"
              aria-current={name === scope.workspace ? "true" : undefined}
              onClick={() => choose({ workspace: name, conversation: null })}
            >
              <span class="list-title">
                <Text>{name}</Text>
              </span>
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

/** The `webhook_status` as it is on the wire. */
export function StatusBadge({ status }: { status: string }) {
  const kind = status === "verified" ? "good" : status === "" ? "plain" : "warn";
  return (
    <span class={`badge ${kind}`}>{status === "" ? t("registration.none") : <Text>{status}</Text>}</span>
  );
}
