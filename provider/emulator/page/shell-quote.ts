/** Plain in every shell: no quotes needed. */
const PLAIN = /^[A-Za-z0-9_\-+=:,./@%]+$/;

/** In a terminal these act while they are pasted, quoted or not: an escape sequence can end the paste. */
const ACTING = /(?!\n)\p{Cc}/u;

/**
 * The text as one word of a POSIX shell, in single quotes. A text with control characters is written as `$'…'`, which
 * bash, zsh and ksh know, so that a paste holds none of them.
 */
export function shellQuote(text: string): string {
  if (ACTING.test(text)) return `$'${escapeControls(text)}'`;
  if (PLAIN.test(text)) return text;
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

function escapeControls(text: string): string {
  return text.replaceAll(/[\\']/g, String.raw`\$&`).replaceAll(/\p{Cc}/gu, escapeOne);
}

/** A C1 control is two bytes in UTF-8: `\x` would write one. */
function escapeOne(char: string): string {
  const code = char.charCodeAt(0);
  return code > 0x7f ? `\\u${hex(code, 4)}` : `\\x${hex(code, 2)}`;
}

function hex(code: number, digits: number): string {
  return code.toString(16).padStart(digits, "0");
}
