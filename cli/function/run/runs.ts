import { type ArgsDef, defineCommand } from 'citty';
import type { RunsQuery } from '../../../client/run-shapes.ts';
import { RUN_OUTCOMES, RUN_STATES } from '../../../model/functions/run.ts';
import { LIMITS } from '../../../model/limits.ts';
import { checkArguments, wholeNumber } from '../../terminal/arguments.ts';
import { usageError } from '../../terminal/cli-error.ts';
import { connect } from '../../terminal/connection.ts';
import { EXIT } from '../../terminal/exit-codes.ts';
import type { Io } from '../../terminal/io.ts';
import { LIST_OPTION, printList } from '../../terminal/list.ts';
import { seconds } from '../../terminal/quantities.ts';
import { functionName } from '../input/names.ts';
import { RUN_HEADER, runRow } from './run-text.ts';

const ARGS = {
  name: { type: 'positional', description: 'Name of a function, else of all', required: false },
  state: { type: 'string', valueHint: RUN_STATES.join('|'), description: 'Only those that are in it' },
  outcome: { type: 'string', valueHint: RUN_OUTCOMES.join('|'), description: 'Only those that ended so' },
  key: { type: 'string', description: 'Only those with this value at their concurrency key' },
  since: {
    type: 'string',
    valueHint: '2h',
    description: 'Only those accepted within so long, or since an instant (RFC 3339)',
  },
  dead: { type: 'boolean', description: 'Only dead letters: they ended badly, and were not redriven', default: false },
  limit: { type: 'string', description: 'So many at most', default: '50' },
  ...LIST_OPTION,
} as const satisfies ArgsDef;

/** `mayfly function runs`: newest first. */
export function runsCommand(io: Io) {
  return defineCommand({
    meta: { name: 'runs', description: 'List runs, newest first' },
    args: ARGS,
    async run({ args, rawArgs }) {
      checkArguments(rawArgs, ARGS);
      const query: RunsQuery = {
        ...(args.name !== undefined && { function: functionName(args.name) }),
        ...(args.state !== undefined && { state: oneOf('state', args.state, RUN_STATES) }),
        ...(args.outcome !== undefined && { outcome: oneOf('outcome', args.outcome, RUN_OUTCOMES) }),
        ...(args.key !== undefined && { key: args.key }),
        ...(args.since !== undefined && { since: sinceOf(args.since) }),
        ...(args.dead && { deadLetter: true }),
        contents: true,
      };
      let left = wholeNumber('limit', args.limit, 1, 100_000);
      const { runs } = connect(io);
      await printList(io, args, { header: RUN_HEADER, row: runRow }, async (page) => {
        const found = await runs.list({ ...page, ...query, limit: Math.min(left, LIMITS.page.max) });
        left -= found.items.length;
        return left > 0 ? found : { ...found, nextCursor: null };
      });
      return EXIT.ok;
    },
  });
}

const A_YEAR = 31_536_000;

function sinceOf(text: string): string {
  if (/^\d{4}-\d\d-\d\d/.test(text) && !Number.isNaN(Date.parse(text))) return new Date(text).toISOString();
  return new Date(Date.now() - seconds('since', text, { min: 1, max: A_YEAR }) * 1_000).toISOString();
}

function oneOf<T extends string>(option: string, text: string, known: readonly T[]): T {
  const found = known.find((each) => each === text);
  if (found !== undefined) return found;
  throw usageError(`--${option} must be one of ${known.join(', ')}, not ${JSON.stringify(text)}`);
}
