import { useSignal } from "@preact/signals";
import { sendAsContact } from "../actions.js";
import { t } from "../i18n/translate.js";
import type { ShownButton } from "../message-content.js";
import { attempt } from "../notices.js";
import { party, workspace } from "../store.js";
import { Text } from "./text.js";

/** The buttons of a template. A press sends title and payload as the contact. */
export function PostbackButtons({ buttons }: { buttons: readonly ShownButton[] }) {
  const busy = useSignal(false);
  async function press(button: ShownButton): Promise<void> {
    const [place, current] = [workspace.value, party.value];
    if (busy.value || place === null || current === null) return;
    busy.value = true;
    await attempt(() => sendAsContact(place.name, current, { kind: "postback", ...button }));
    busy.value = false;
  }
  return (
    <div class="stack tight">
      {buttons.map((button, index) => (
        <button
          key={index}
          type="button"
          class="postback"
          aria-disabled={busy.value}
          title={t("chat.payload", { payload: button.payload })}
          onClick={() => void press(button)}
          data-testid="postback"
        >
          <Text>{button.title === "" ? t("chat.untitled") : button.title}</Text>
        </button>
      ))}
    </div>
  );
}
