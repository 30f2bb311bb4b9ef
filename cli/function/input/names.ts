import { isFunctionName } from '../../../model/functions/function.ts';
import { isRunId } from '../../../model/ids.ts';
import { flag, option, positional } from '../../terminal/arguments.ts';
import { usageError } from '../../terminal/cli-error.ts';

export const NAME = { name: positional('Name of a function (`mayfly function list`)') };

export const RUN = { id: positional('Id of a run (`mayfly function runs`)') };

export const RUN_OR_ALL = {
  id: positional('Id of a run; with --all, the name of a function'),
  all: flag('All of a function that it can be done to'),
};

export const VERSION = {
  version: option('Of the function: that of the run, or the active one', 'same|current'),
};

/** @throws CliError */
export function versionOf(text: string): 'same' | 'current' {
  if (text === 'same' || text === 'current') return text;
  throw usageError(`--version must be same or current, not ${JSON.stringify(text)}`);
}

/** @throws CliError when `text` is not the name of a function */
export function functionName(text: string): string {
  if (isRunId(text)) {
    throw usageError(`${text} is a run, and no function`, `See it with \`mayfly function run ${text}\`.`);
  }
  if (isFunctionName(text)) return text;
  throw usageError(
    `${JSON.stringify(text)} cannot name a function`,
    '1 to 63 of a-z, 0-9 and -; it begins with a letter. List them with `mayfly function list`.',
  );
}

/** @throws CliError when `text` is not the id of a run */
export function runId(text: string): string {
  if (isRunId(text)) return text;
  if (isFunctionName(text) && !text.startsWith('run-')) {
    throw usageError(
      `${text} is the name of a function, and no run`,
      `List its runs with \`mayfly function runs ${text}\`.`,
    );
  }
  throw usageError(`${JSON.stringify(text)} is not the id of a run`, 'List them with `mayfly function runs`.');
}
