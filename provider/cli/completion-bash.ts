/**
 * The script for bash. That of @bomb.sh/tab needs the package bash-completion, and evaluates what is typed: `$(…)` would run
 * at the tab key. Where nothing of ours fits, bash completes file names.
 */
export const bashScript = (name: string): string => `# bash completion of ${name}
_${name}_complete() {
  local IFS=$'\\n' word="\${COMP_WORDS[COMP_CWORD]}"
  local found="$(${name} complete -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null | cut -f1 | grep -v '^:')"
  COMPREPLY=($(compgen -W "$found" -- "$word"))
}
complete -o default -F _${name}_complete ${name}
`;
