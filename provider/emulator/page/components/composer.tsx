import { useSignal } from "@preact/signals";
import { t } from "../i18n/translate.js";
import type { Party } from "../outgoing-bodies.js";
import { AgentComposer } from "./agent-composer.js";
import { ContactComposer } from "./contact-composer.js";

interface Props {
  workspace: string;
  party: Party;
}

/** Writes as the contact, or answers as the agent. What was begun as the one stays while the other writes. */
export function Composer(props: Props) {
  const agent = useSignal(false);
  return (
    <section class="composer" id="composer" aria-label={t("compose.panel")}>
      <fieldset class="segments">
        <legend class="hidden">{t("compose.as")}</legend>
        <Role
          label={t("compose.contact")}
          value="contact"
          checked={!agent.value}
          onChoose={() => (agent.value = false)}
        />
        <Role
          label={t("compose.agent")}
          value="agent"
          checked={agent.value}
          onChoose={() => (agent.value = true)}
        />
      </fieldset>
      <div hidden={agent.value}>
        <ContactComposer {...props} />
      </div>
      <div hidden={!agent.value}>
        <AgentComposer {...props} />
      </div>
    </section>
  );
}

interface RoleProps {
  label: string;
  value: string;
  checked: boolean;
  onChoose: () => void;
}

function Role({ label, value, checked, onChoose }: RoleProps) {
  return (
    <label class="segment">
      <input
        type="radio"
        name="write-as"
        value={value}
        checked={checked}
        onChange={onChoose}
        data-testid={`as-${value}`}
      />
      <span>{label}</span>
    </label>
  );
}
