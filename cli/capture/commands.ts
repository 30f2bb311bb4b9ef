import type { Capture } from '../../clients/typescript/http/openapi.ts';
import { size } from '../snapshot/snapshot-text.ts';
import { HOST_OPTION, onHost } from '../source/host-option.ts';
import { captureId, oneOf, option, positional } from '../terminal/arguments.ts';
import { command, nounCommand, pagedCommand } from '../terminal/command.ts';
import { withProgress } from '../terminal/progress.ts';
import { captureLines } from './capture-text.ts';

const HEADER = ['ID', 'STATE', 'HOST', 'TAKES', 'PARENT', 'CREATED'];

function row({ id, state, hostId, saved, createdAt }: Capture): string[] {
  return [id, state, hostId, saved ? size(saved.sizeBytes) : '-', saved?.parentId ?? '-', createdAt];
}

/** `mayfly capture create|list|get|delete` */
export const captureCommand = nounCommand({
  /** Done when it was copied and checked. */
  create: command({
    description: 'Copy a running source as it is at one moment, while it goes on',
    args: {
      source: positional('Running source (`mayfly source list`)'),
      ...HOST_OPTION,
      project: option('A project that may clone it; may be given more than once (default: that of the key)'),
      egress: option('The most that its clones can reach: none or internet (default: none)'),
    },
    repeatable: ['project'],
    async call({ io, args, repeated, connect, options }) {
      const projects = repeated('project');
      const request = {
        ...onHost(args),
        ...(projects.length > 0 && { projects }),
        ...(args.egress !== undefined && { allowedEgress: oneOf('egress', args.egress, ['none', 'internet']) }),
      };
      const { captures } = connect();
      return withProgress(io, `capturing ${args.source}`, () => captures.take(args.source, request, options));
    },
    print: captureLines,
    isDone: (capture) => capture.state === 'ready',
  }),
  /** Newest first, all pages. */
  list: pagedCommand({
    description: 'List the captures of a source, newest first',
    args: { source: positional('Source; also one that is gone') },
    table: { header: HEADER, row },
    read:
      ({ args, connect }) =>
      (page) =>
        connect().captures.list(args.source, page),
  }),
  get: command({
    description: 'Show a capture',
    args: { id: positional('Capture id') },
    call: ({ args, connect, options }) => connect().captures.get(captureId(args.id), options),
    print: captureLines,
  }),
  /** Refused while something refers to it. */
  delete: command({
    description: 'Delete a capture that no sandbox, snapshot or later capture refers to',
    args: { id: positional('Capture id') },
    call: ({ args, connect, options }) => connect().captures.delete(captureId(args.id), options),
    print: captureLines,
    isDone: (capture) => capture.state === 'deleted' || capture.state === 'failed',
  }),
});
