import { useSignal } from "@preact/signals";
import { t } from "../i18n/translate.js";
import type { Party } from "../outgoing-bodies.js";
import { ComposeForm } from "./compose-form.js";

/** Writes as the contact, or answers as the agent. What was begun as the one stays while the other writes. */
export function Composer(props: { workspace: string; party: Party }) {
  const chosen = useSignal<"contact" | "agent">("contact");
  const roles = ["contact", "agent"] as const;
  return (
    <section class="composer" id="composer" aria-label={t("compose.panel")}>
      <fieldset class="segments">
        <legend class="hidden">{t("compose.as")}</legend>
        {roles.map((role) => (
          <label key={role} class="segment">
            <input
              type="radio"
              name="write-as"
              value={role}
              checked={chosen.value === role}
              onChange={() => (chosen.value = role)}
              data-testid={`as-${role}`}
            />
            <span>{t(`compose.${role}`)}</span>
          </label>
        ))}
      </fieldset>
      {roles.map((role) => (
        <div key={role} hidden={chosen.value !== role}>
          <ComposeForm from={role} {...props} />
        </div>
      ))}
    </section>
  );
}
