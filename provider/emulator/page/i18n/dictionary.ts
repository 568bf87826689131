import type { en } from "./en.js";

/** The name of a text. */
export type TextKey = keyof typeof en;

/** A whole dictionary: one that lacks a text does not compile. */
export type Dictionary = Readonly<Record<TextKey, string>>;

type ParametersIn<Text> = Text extends `${string}{${infer Name}}${infer Rest}`
  ? Name | ParametersIn<Rest>
  : never;

/** The values for the `{parameters}` of a text: none of them can be forgotten. */
export type TextArguments<Key extends TextKey> = [ParametersIn<(typeof en)[Key]>] extends [never]
  ? []
  : [values: Readonly<Record<ParametersIn<(typeof en)[Key]>, string | number>>];

/** Puts the values in place of the `{parameters}`. Their content is not looked into again. */
export function fillIn(text: string, values: Readonly<Record<string, string | number>> = {}): string {
  return text.replaceAll(/\{(\w+)\}/g, (parameter, name: string) => String(values[name] ?? parameter));
}
