import type { OptionsOf } from '../../../client/http/resource.ts';
import { RUN_OUTCOMES, RUN_STATES } from '../../../model/functions/run-state.ts';
import { oneOf } from '../../terminal/arguments.ts';
import { pagedCommand } from '../../terminal/command.ts';
import { seconds } from '../../terminal/quantities.ts';
import { functionName } from '../input/names.ts';
import { RUN_HEADER, runRow } from './run-text.ts';

/** `mayfly function runs`: newest first. */
export const runsCommand = pagedCommand({
  description: 'List runs, newest first',
  args: {
    name: { type: 'positional', description: 'Name of a function, else of all', required: false },
    state: { type: 'string', valueHint: RUN_STATES.join('|'), description: 'Only those that are in it' },
    outcome: { type: 'string', valueHint: RUN_OUTCOMES.join('|'), description: 'Only those that ended so' },
    key: { type: 'string', description: 'Only those with this value at their concurrency key' },
    since: {
      type: 'string',
      valueHint: '2h',
      description: 'Only those accepted within so long, or since an instant (RFC 3339)',
    },
    dead: {
      type: 'boolean',
      description: 'Only dead letters: they ended badly, and were not redriven',
      default: false,
    },
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
