/**
 * Parsed command for inspecting a source; as JSON, the only input of the gate on the source. Nothing in it expands,
 * substitutes or writes to a file, so it runs without a shell.
 */
export interface ReadonlyCommand {
  pipelines: Pipeline[];
}

export interface Pipeline {
  /**
   * Condition on the last executed pipeline's exit status: `a && b || c ; d` is `always`, `success`, `failure`,
   * `always`; a line end is a `;`. A skipped pipeline leaves the status unchanged.
   */
  when: 'always' | 'success' | 'failure';
  /** At least one. Each stage's standard output is the next one's standard input; the last one sets the status. */
  stages: Stage[];
}

export interface Stage {
  /** Variables `NAME=value` for this stage; the last duplicate wins. `@default` none */
  environment?: string[];
  /** Program's name in the table, or its path in a standard folder, then its arguments. */
  argv: [string, ...Argument[]];
  /** `null`: `</dev/null`; always for the first stage. */
  stdin: 'pipe' | 'null';
  /** `null`: `>/dev/null`. `@default` to the next stage, or into the answer */
  stdout?: 'null';
  /** `null`: `2>/dev/null`; `stdout`: `2>&1`, to the next stage or into the answer. */
  stderr: 'inherit' | 'null' | 'stdout';
}

/**
 * Argument; `glob` is a POSIX sh pattern of `*`, `?` and `[…]`, in which a backslash quotes the next character. The
 * gate expands it only where a program takes any number of paths; elsewhere, or without a match, it becomes its
 * {@link textOf | text}.
 */
export type Argument = string | { glob: string };

/** Returns an argument without expansion: a pattern loses its quoting backslashes. */
export function textOf(argument: Argument): string {
  return typeof argument === 'string' ? argument : argument.glob.replace(/\\([\s\S])/g, '$1');
}

/** Reason and position of a refusal. */
export interface Refusal {
  /** Offset in the caller's text, from 0, UTF-16 code units; null when only the parsed command is known. */
  position: number | null;
  /** Clause without capital letter and full stop: the problem, and an alternative if there is one. */
  reason: string;
}
