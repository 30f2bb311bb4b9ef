import type { OptionsOf } from '../../../clients/typescript/http/resource.ts';
import { RUN_OUTCOMES, RUN_STATES } from '../../../model/functions/run-state.ts';
import { flag, oneOf, option } from '../../terminal/arguments.ts';
import { pagedCommand } from '../../terminal/command.ts';
import { seconds } from '../../terminal/quantities.ts';
import { functionName } from '../input/names.ts';
import { RUN_HEADER, runRow } from './run-text.ts';

/** `mayfly function runs`: newest first. */
export const runsCommand = pagedCommand({
  description: 'List runs, newest first',
  args: {
    name: { type: 'positional', description: 'Name of a function, else of all', required: false },
    state: option('Only those that are in it', RUN_STATES.join('|')),
    outcome: option('Only those that ended so', RUN_OUTCOMES.join('|')),
    key: option('Only those with this value at their concurrency key'),
    since: option('Only those accepted within so long, or since an instant (RFC 3339)', '2h'),
    dead: flag('Only dead letters: they ended badly, and were not redriven'),
  },
  limit: 50,
  table: { header: RUN_HEADER, row: runRow },
  read({ args, connect }) {
    const query: OptionsOf<'GET /v1/runs'> = {
      ...(args.name !== undefined && { function: functionName(args.name) }),
      ...(args.state !== undefined && { state: oneOf('state', args.state, RUN_STATES) }),
      ...(args.outcome !== undefined && { outcome: oneOf('outcome', args.outcome, RUN_OUTCOMES) }),
      ...(args.key !== undefined && { key: args.key }),
      ...(args.since !== undefined && { since: sinceOf(args.since) }),
      ...(args.dead && { deadLetter: true }),
      contents: true,
    };
    return (page) => connect().runs.list({ ...page, ...query });
  },
});

const A_YEAR = 31_536_000;

function sinceOf(text: string): string {
  if (/^\d{4}-\d\d-\d\d/.test(text) && !Number.isNaN(Date.parse(text))) return new Date(text).toISOString();
  return new Date(Date.now() - seconds('since', text, { min: 1, max: A_YEAR }) * 1_000).toISOString();
}
