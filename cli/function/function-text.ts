import type { Function as DeployedFunction, FunctionVersion } from '../../clients/typescript/http/openapi.ts';
import { size } from '../snapshot/snapshot-text.ts';
import { duration } from '../terminal/arguments.ts';
import { type Io, recordLines } from '../terminal/io.ts';

type Spec = FunctionVersion['spec'];
type Field = [string, string];

const STATES: Record<DeployedFunction['state'], string> = {
  active: 'active',
  paused: 'paused: events are accepted, and none is started',
  draining: 'draining: no event is accepted, and it goes when its runs have ended',
};

/** Formats a function and its versions for a person. @param versions newest first */
export function functionLines(
  io: Io,
  { name, state, createdAt }: DeployedFunction,
  versions: readonly FunctionVersion[],
): string[] {
  const active = versions.find(({ isActive }) => isActive);
  const fields: Field[] = [
    ['state', STATES[state]],
    ['created', createdAt],
  ];
  if (active) fields.push(...specFields(active.spec), ...setupFields(active));
  return [
    ...recordLines(io, name, fields, 12),
    '  versions:',
    ...versions.map(
      ({ version, isActive, digest, createdAt: at }) =>
        `    ${version}  ${at}  ${digest.slice(0, 12)}${isActive ? '  active' : ''}`,
    ),
  ];
}

function specFields(spec: Spec): Field[] {
  const { source, snapshotId, command, argv, filesDigest, envNames, network, timeoutSeconds, retry, result } = spec;
  return [
    ['runs', command ?? JSON.stringify(argv)],
    ['in', source ?? snapshotId ?? spec.setup?.source ?? ''],
    ['files', filesDigest?.slice(0, 12) ?? 'none'],
    ['env', envNames.join(', ') || 'none'],
    ...(spec.secrets.length > 0 ? [['secrets', spec.secrets.map(({ name }) => name).join(', ')] as Field] : []),
    ['network', network.egress],
    [
      'time',
      `${duration(timeoutSeconds * 1_000)}; not started later than ${duration(spec.maxEventAgeSeconds * 1_000)} after its event`,
    ],
    ['attempts', `${retry.maxAttempts}${spec.idempotent ? ', idempotent' : ''}`],
    ['at once', spec.concurrency.map(ruleText).join('; ')],
    ...(spec.throttle ? [['begin', throttleText(spec.throttle)] as Field] : []),
    ...gatheringField(spec),
    ['binding', spec.lateBinding ? 'the version that is active when a run is admitted' : 'the version of its event'],
    ['priority', String(spec.priority)],
    [
      'keeps',
      spec.keep.onFailure === 'disk' ? `the disks of what failed, for ${spec.keep.days} d` : 'nothing of what failed',
    ],
    ...(spec.diff ? [['compares', 'what a process has changed on its disks'] as Field] : []),
    [
      'limits',
      `event ${size(spec.input.maxBytes)}, result ${size(result.maxBytes)}, artifacts ${size(spec.artifacts.maxBytes)}`,
    ],
  ];
}

function setupFields({ setup }: FunctionVersion): Field[] {
  if (!setup) return [];
  const { state, snapshotKind, failure, waitingFor } = setup;
  const why =
    failure?.message ?? (waitingFor && `waits for ${waitingFor}`) ?? (snapshotKind === 'disk' && 'disks alone');
  return [['setup', why ? `${state}: ${why}` : state]];
}

const OTHERS: Record<Spec['concurrency'][number]['onFull'], string> = {
  queue: 'others wait',
  skip: 'others are skipped',
  'cancel-running': 'newer ones take the place of older ones',
};

function ruleText({ limit, key, onFull }: Spec['concurrency'][number]): string {
  return `${limit}${ofEach(key)}, ${OTHERS[onFull]}`;
}

function gatheringField({ debounce, batch }: Spec): Field[] {
  const most = (seconds: number) => `${duration(seconds * 1_000)} at most`;
  if (debounce) {
    const { key, periodSeconds, maxWaitSeconds } = debounce;
    return [
      [
        'gather',
        `the newest${ofEach(key)} after ${duration(periodSeconds * 1_000)} without another, ${most(maxWaitSeconds)}`,
      ],
    ];
  }
  return batch ? [['gather', `${batch.maxSize}${ofEach(batch.key)} in a batch, ${most(batch.maxWaitSeconds)}`]] : [];
}

function throttleText({ limit, periodSeconds, burst, key, onFull }: NonNullable<Spec['throttle']>): string {
  return `${limit} in ${duration(periodSeconds * 1_000)}${ofEach(key)}, ${burst} at once, ${OTHERS[onFull]}`;
}

function ofEach(key: string | null): string {
  return key === null ? '' : ` of each ${key}`;
}
