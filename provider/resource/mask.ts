const MASKS = /[*•●…]{3,}|^[[(<]?(redacted|secret|masked|hidden)[\])>]?$|^[x.]{4,}$/iu;

/** Whether a text looks like what services show in place of a key, and not like a key. */
export const looksMasked = (text: string): boolean => MASKS.test(text);
