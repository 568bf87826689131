import { useSignal } from "@preact/signals";
import { useId, useMemo } from "preact/hooks";
import type { HttpView } from "../../control/shapes.js";
import { indentJson, isIndentable } from "../indent-json.js";
import { t } from "../i18n/translate.js";
import { visibleText } from "../visible-text.js";
import { Check } from "./field.js";
import { Text } from "./text.js";

/** A longer body is cut until it is asked for: drawing megabytes would stall the page. */
const SHOWN_CHARACTERS = 10_000;

/** A longer body is indented when that is asked for: it takes a second for each megabyte. */
const INDENTED_CHARACTERS = 100_000;

/** Status, headers and body of one direction; null is no answer. */
export function HttpPart({ title, part }: { title: string; part: HttpView | null }) {
  const heading = useId();
  return (
    <section class="http" aria-labelledby={heading}>
      <h3 id={heading}>
        {title}
        {part?.status !== undefined && ` · ${part.status}`}
      </h3>
      {part === null ? (
        <p class="muted">{t("wire.noAnswer")}</p>
      ) : (
        <>
          <Headers headers={part.headers} />
          <Body body={part.body} />
        </>
      )}
    </section>
  );
}

function Headers({ headers }: { headers: Readonly<Record<string, string>> }) {
  const entries = Object.entries(headers);
  if (entries.length === 0) return null;
  return (
    <details class="fold" open>
      <summary>{t("wire.headers")}</summary>
      <dl class="headers">
        {entries.map(([name, value]) => (
          <div key={name}>
            <dt>
              <Text>{name}</Text>
            </dt>
            <dd>
              <Text>{value}</Text>
            </dd>
          </div>
        ))}
      </dl>
    </details>
  );
}

function Body({ body }: { body: string }) {
  const whole = useSignal(false);
  const indented = useSignal(body.length <= INDENTED_CHARACTERS);
  const indentable = useMemo(() => isIndentable(body), [body]);
  const text = useMemo(
    () => (indented.value && indentable ? indentJson(body) : body),
    [body, indented.value],
  );
  if (body === "") return <p class="muted">{`${t("wire.body")}: ${t("wire.emptyBody")}`}</p>;
  const cut = !whole.value && text.length > SHOWN_CHARACTERS;
  return (
    <details class="fold" open>
      <summary>{t("wire.body")}</summary>
      {indentable && (
        <Check checked={indented.value} onChange={(checked) => (indented.value = checked)}>
          {t("wire.indent")}
        </Check>
      )}
      <pre class="raw" dir="auto" data-testid="body">
        {visibleText(cut ? text.slice(0, SHOWN_CHARACTERS) : text)}
      </pre>
      {cut && (
        <button type="button" class="small" onClick={() => (whole.value = true)}>
          {t("wire.showAll", { count: text.length })}
        </button>
      )}
    </details>
  );
}
