import { type ArgsDef, defineCommand } from 'citty';
import type { Egress } from '../../model/sandbox/sandbox.ts';
import { HOST_OPTION, onHost } from '../source/host-option.ts';
import { checkArguments, JSON_OPTION, WAIT_OPTION, waitSeconds } from '../terminal/arguments.ts';
import { usageError } from '../terminal/cli-error.ts';
import { connect } from '../terminal/connection.ts';
import { EXIT } from '../terminal/exit-codes.ts';
import type { Io } from '../terminal/io.ts';
import { withProgress } from '../terminal/progress.ts';
import { captureLines } from './capture-text.ts';

const ARGS = {
  source: { type: 'positional', description: 'Running source (`mayfly source list`)', required: true },
  ...HOST_OPTION,
  project: {
    type: 'string',
    description: 'A project that may clone it; may be given more than once (default: that of the key)',
  },
  egress: { type: 'string', description: 'The most that its clones can reach: none or internet (default: none)' },
  ...WAIT_OPTION,
  ...JSON_OPTION,
} as const satisfies ArgsDef;

/** `mayfly capture create`: done when it was copied and checked. */
export function createCommand(io: Io) {
  return defineCommand({
    meta: { name: 'create', description: 'Copy a running source as it is at one moment, while it goes on' },
    args: ARGS,
    async run({ args, rawArgs }) {
      const projects = checkArguments(rawArgs, ARGS, ['project']).get('project') ?? [];
      const request = {
        ...onHost(args),
        ...(projects.length > 0 && { projects }),
        ...(args.egress !== undefined && { allowedEgress: egressFrom(args.egress) }),
      };
      const options = { waitSeconds: waitSeconds(args.wait), signal: io.signal };
      const { captures } = connect(io);
      const capture = await withProgress(io, `capturing ${args.source}`, () =>
        captures.take(args.source, request, options),
      );
      if (args.json) io.printJson(capture);
      else for (const line of captureLines(io, capture)) io.print(line);
      return capture.state === 'ready' ? EXIT.ok : EXIT.waitedTooLong;
    },
  });
}

/** @throws CliError */
function egressFrom(text: string): Egress {
  if (text === 'none' || text === 'internet') return text;
  throw usageError(`--egress must be none or internet, not ${JSON.stringify(text)}`);
}
