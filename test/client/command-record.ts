import type { Command } from '../../client/sandbox/commands.ts';
import { ID } from './sandbox-record.ts';

export const COMMAND_ID = 'cmd-0123456789abcdef';

/** A command that has exited with 0, or as `changes` say. */
export function commandRecord(changes: Partial<Command> = {}): Command {
  return {
    id: COMMAND_ID,
    sandboxId: ID,
    hostId: 'host',
    spec: {
      command: 'true',
      argv: null,
      envNames: [],
      cwd: null,
      user: null,
      timeoutSeconds: 600,
      maxOutputBytes: 10_485_760,
      stdinOpen: false,
    },
    createdBy: { apiKeyId: 'test', agentId: null },
    state: 'ended',
    requestedAt: '2026-11-21T10:00:00.000Z',
    startedAt: '2026-11-21T10:00:00.010Z',
    endedAt: '2026-11-21T10:00:01.010Z',
    outcome: 'exited',
    exitCode: 0,
    signal: null,
    reason: null,
    failure: null,
    stdout: { bytes: 0, kept: 0 },
    stderr: { bytes: 0, kept: 0 },
    ...changes,
  };
}
