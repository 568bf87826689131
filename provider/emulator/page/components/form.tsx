import { useSignal } from "@preact/signals";
import type { ComponentProps, TargetedSubmitEvent } from "preact";
import { useId } from "preact/hooks";
import { attempt } from "../notices.js";

type FieldProps = ComponentProps<"input"> & {
  label: string;
  hint?: string;
  /** For a screen reader only; shown as the placeholder. */
  hideLabel?: boolean;
  onText?: (text: string) => void;
};

/** A labelled input of one line, which the browser neither completes nor corrects. */
export function Field({ label, hint, hideLabel, onText, ...input }: FieldProps) {
  const hintId = useId();
  return (
    <label class="field">
      {!hideLabel && label}
      <input
        {...input}
        onInput={(event) => onText?.(event.currentTarget.value)}
        placeholder={hideLabel ? label : undefined}
        autocomplete="off"
        spellcheck={false}
        dir="auto"
        aria-label={label}
        aria-describedby={hint && hintId}
      />
      {hint && <small id={hintId}>{hint}</small>}
    </label>
  );
}

interface SelectProps<Value extends string> {
  label: string;
  /** Default: the first option, until the user chooses. */
  value?: Value;
  options: readonly Value[];
  /** The text of an option, if it is not the option itself. */
  nameOf?: (option: Value) => string;
  onChange?: (value: Value) => unknown;
  hideLabel?: boolean;
  name?: string;
}

export function Select<Value extends string>(props: SelectProps<Value>) {
  const { label, value, options, nameOf = String, onChange, hideLabel, ...select } = props;
  return (
    <label class="field">
      {!hideLabel && label}
      <select
        {...select}
        value={value}
        onChange={(event) => void onChange?.(event.currentTarget.value as Value)}
        aria-label={label}
      >
        {options.map((option) => (
          <option key={option} value={option}>
            {nameOf(option)}
          </option>
        ))}
      </select>
    </label>
  );
}

type CheckProps = Omit<ComponentProps<"input">, "onChange" | "role"> & {
  onChange?: (checked: boolean) => unknown;
};

export function Check({ onChange, children, ...input }: CheckProps) {
  return (
    <label class="flex items-center gap-2">
      <input {...input} type="checkbox" onChange={(event) => void onChange?.(event.currentTarget.checked)} />
      {children}
    </label>
  );
}

/** The values of a form by field name. A check box that is not checked is missing. */
export type Fields = Readonly<Record<string, string>>;

type FormProps = Omit<ComponentProps<"form">, "action"> & {
  /** Its failure is shown, and the form stays filled in. */
  action: (fields: Fields) => Promise<unknown>;
};

/** A form that is submitted once at a time. */
export function Form({ action, children, ...form }: FormProps) {
  const busy = useSignal(false);
  async function submit(event: TargetedSubmitEvent<HTMLFormElement>): Promise<void> {
    event.preventDefault();
    if (busy.value) return;
    const fields = Object.fromEntries(new FormData(event.currentTarget)) as Fields;
    busy.value = true;
    await attempt(() => action(fields));
    busy.value = false;
  }
  return (
    <form {...form} aria-busy={busy.value} autocomplete="off" onSubmit={(event) => void submit(event)}>
      {children}
    </form>
  );
}
