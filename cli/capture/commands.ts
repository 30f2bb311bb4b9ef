import type { Capture } from '../../clients/typescript/http/openapi.ts';
import { size } from '../snapshot/snapshot-text.ts';
import { HOST_OPTION, onHost } from '../source/host-option.ts';
import { captureId, oneOf, option, positional } from '../terminal/arguments.ts';
import { command, nounCommand, pagedCommand } from '../terminal/command.ts';
import { type Io, printable, recordLines, withProgress } from '../terminal/io.ts';
import { failureFields } from '../terminal/remedies.ts';

const HEADER = ['ID', 'STATE', 'HOST', 'TAKES', 'PARENT', 'CREATED'];

function row({ id, state, hostId, saved, createdAt }: Capture): string[] {
  return [id, state, hostId, saved ? size(saved.sizeBytes) : '-', saved?.parentId ?? '-', createdAt];
}

export const captureCommand = nounCommand({
  /** Done when the capture is copied and checked. */
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
  /** Refused while a sandbox, snapshot or capture refers to it. */
  delete: command({
    description: 'Delete a capture that no sandbox, snapshot or later capture refers to',
    args: { id: positional('Capture id') },
    call: ({ args, connect, options }) => connect().captures.delete(captureId(args.id), options),
    print: captureLines,
    isDone: (capture) => capture.state === 'deleted' || capture.state === 'failed',
  }),
});

/** Formats a capture for a person; null fields are left out. */
export function captureLines(io: Io, capture: Capture): string[] {
  const { saved, failure } = capture;
  const fields: [string, string | null][] = [
    ['state', capture.state],
    ['of', capture.source],
    ['host', capture.hostId],
    ['moment', saved?.capturedAt ?? null],
    ['files', saved && (saved.quiesced ? 'frozen at that moment' : 'not frozen: as after a power cut')],
    ['takes', saved && `${size(saved.sizeBytes)} on the host`],
    ['copied', saved && (saved.parentId ? `what changed since ${saved.parentId}` : `all: ${saved.fullBecause}`)],
    ['waits for', capture.waitingFor],
    ...failureFields(failure),
  ];
  const digests = saved?.disks.map(({ target, sha256 }) => `  ${target.padEnd(10)}sha256 ${sha256}`) ?? [];
  return [...recordLines(io, capture.id, fields), ...digests.map(printable)];
}
