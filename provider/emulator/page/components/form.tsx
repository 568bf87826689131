import { useSignal } from "@preact/signals";
import type { ComponentProps, TargetedSubmitEvent } from "preact";
import { attempt } from "../errors.js";

/** A labelled input of one line. */
export function Field({ label, ...input }: ComponentProps<"input"> & { label: string }) {
  return (
    <label class="field">
      {label}
      <input {...input} spellcheck={false} dir="auto" />
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
  name?: string;
}

export function Select<Value extends string>(props: SelectProps<Value>) {
  const { label, value, options, nameOf = String, onChange, name } = props;
  return (
    <label class="field">
      {label}
      <select
        name={name}
        value={value}
        onChange={(event) => void onChange?.(event.currentTarget.value as Value)}
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

/** The values of a form by field name. */
export type Fields = Readonly<Record<string, string>>;

type FormProps = Omit<ComponentProps<"form">, "action"> & {
  /** If it fails, the page shows the error, and the form stays filled in. */
  action: (fields: Fields) => Promise<unknown>;
};

/** A form that ignores submits while one is in progress. The browser does not autocomplete its fields. */
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
