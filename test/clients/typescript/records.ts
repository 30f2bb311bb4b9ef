import { recordedExchanges } from '../../../api/description/openapi.ts';
import type {
  Command,
  Function as DeployedFunction,
  FunctionVersion,
  Image,
  Run,
} from '../../../clients/typescript/http/openapi.ts';
import type { SandboxRecord } from '../../../model/sandbox/sandbox.ts';
import type { SnapshotRecord } from '../../../model/snapshots/snapshot.ts';

export const ID = 'sbx-0123456789abcdef';
export const COMMAND_ID = 'cmd-0123456789abcdef';
export const SNAPSHOT = 'snp-0123456789abcdef';
export const RUN_ID = 'run-0123456789abcdef';

const exchanges = recordedExchanges();

/** Returns a recorded answer of the API. @param changes replacement fields */
export function answerOf<T extends object>(operation: string, changes: Partial<T> = {}, status = '200'): T {
  const answer = exchanges[operation]?.answers[status]?.['application/json'];
  if (!answer) throw new Error(`no answer ${status} of ${operation} is recorded`);
  return { ...(answer as T), ...changes };
}

/** Returns a running sandbox. */
export function sandboxRecord(changes: Partial<SandboxRecord> = {}): SandboxRecord {
  return answerOf<SandboxRecord>('getSandbox', {
    id: ID,
    name: null,
    ssh: { address: '127.64.0.2', port: 2222, user: 'sandbox', hostKey: 'ssh-ed25519 AAAA' },
    steps: [{ step: 'cloneDisk', startedAt: '2026-11-21T10:00:00.000Z', endedAt: '2026-11-21T10:00:00.120Z' }],
    ...changes,
  });
}

/** Returns a snapshot that is ready. */
export function snapshotRecord(changes: Partial<SnapshotRecord> = {}): SnapshotRecord {
  return answerOf<SnapshotRecord>('getSnapshot', { id: SNAPSHOT, sandboxId: ID, name: 'before', ...changes });
}

/** Returns a command that has exited with 0. */
export function commandRecord(changes: Partial<Command> = {}): Command {
  return answerOf<Command>('getCommand', { id: COMMAND_ID, sandboxId: ID, ...changes });
}

/** Ready build of two steps, the first one cached. */
export const image = answerOf<Image>('getImage', {
  id: 'img-0123456789abcdef',
  name: 'web',
  steps: [
    { line: 2, text: 'RUN true', command: null },
    { line: null, text: 'finish', command: { sandboxId: ID, id: COMMAND_ID } },
  ],
  cached: 1,
  unusedArgs: ['SPARE'],
});

/** Failure of a step of {@link image}. */
export const failure = {
  code: 'image_step_failed',
  message: 'line 2: RUN true: exit code 3',
  line: 2,
  exitCode: 3,
  log: '\u001b[2Jwhy\n',
};

export const deployedFunction = answerOf<DeployedFunction>('getFunction', { name: 'fn', activeVersion: 3 });
const activated = answerOf<FunctionVersion>('activateFunctionVersion');

export const functionVersion: FunctionVersion = {
  ...activated,
  function: 'fn',
  version: 3,
  spec: {
    ...activated.spec,
    source: 'web-1',
    command: null,
    argv: ['./main.sh'],
    envNames: ['A', 'B'],
    concurrency: [{ limit: 2, key: '/customer', onFull: 'skip' }],
    diff: false,
  },
};

/** Returns an accepted run. */
export function runRecord(changes: Partial<Run> = {}): Run {
  return answerOf<Run>('invokeFunction', { id: RUN_ID, function: 'fn', version: 3, ...changes }, '202');
}

/** Returns an attempt with a running process. */
export function attemptRecord(changes: Partial<Run['attempts'][number]> = {}): Run['attempts'][number] {
  const [attempt] = answerOf<Run>('getRun').attempts;
  if (!attempt) throw new Error('no attempt is recorded');
  const going = { endedAt: null, outcome: null, exitCode: null, cleanup: 'pending' } as const;
  return { ...attempt, ...going, sandboxId: ID, commandId: COMMAND_ID, ...changes };
}
