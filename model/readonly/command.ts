/**
 * A command for looking at a source, after the caller's text was parsed: this, as JSON, is all that the gate on the
 * source ever gets. There is nothing in it that expands, substitutes or writes to a file, so no shell is
 * needed to run it, and none is.
 */
export interface ReadonlyCommand {
  pipelines: Pipeline[];
}

export interface Pipeline {
  /**
   * Whether it runs, by the exit status of the pipeline that ran last: a text `a && b || c ; d` is `always`,
   * `success`, `failure`, `always`; the end of a line is a `;`. One that is skipped leaves that status as it was.
   */
  when: 'always' | 'success' | 'failure';
  /** At least one. The standard output of each is the standard input of the next; the status is the last one's. */
  stages: Stage[];
}

export interface Stage {
  /** Variables of the table, `NAME=value`, for this stage alone; of the same name the last holds. `@default` none */
  environment?: string[];
  /** The program's name in the table, or its path in one of the standard folders, then its arguments. */
  argv: [string, ...Argument[]];
  /** `null`: `</dev/null`. Of the first stage it always is. */
  stdin: 'pipe' | 'null';
  /** `null`: `>/dev/null`. `@default` to the next stage, or into the answer */
  stdout?: 'null';
  /** `null`: `2>/dev/null`; `stdout`: `2>&1`, to the next stage or into the answer, as standard output usually goes. */
  stderr: 'inherit' | 'null' | 'stdout';
}

/**
 * `glob` is a pattern of `*`, `?` and `[…]` as POSIX sh has them, where a backslash makes the next character an
 * ordinary one. It is expanded by the gate, and only where a program takes any number of paths; anywhere else it stands
 * for its {@link textOf | text}. One that matches nothing stands for its text too.
 */
export type Argument = string | { glob: string };

/** What an argument is when it is not expanded: the pattern without the backslashes that quote. */
export function textOf(argument: Argument): string {
  return typeof argument === 'string' ? argument : argument.glob.replace(/\\([\s\S])/g, '$1');
}

/** Why a command is not allowed, and where. */
export interface Refusal {
  /** In the caller's text, from 0, in UTF-16 code units; null where only the parsed command is known. */
  position: number | null;
  /** A sentence without a capital and a full stop: what is wrong, and what to write instead where there is something. */
  reason: string;
}
