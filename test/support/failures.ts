/**
 * The different failures of check in an output, one for each resource and property. The engine prints each of them as
 * progress, under Diagnostics, and again in the error of the Automation API.
 */
export function failuresIn(output: string): string[] {
  return [...new Set(output.match(/(?<=error: )[^\n]* has a problem: [^\n]*/g))];
}
