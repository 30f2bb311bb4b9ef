import { z } from 'zod';
import { egress } from '../fields.ts';
import { LIMITS } from '../limits.ts';
import {
  areVariablesPassable,
  argv,
  endpointId,
  intInRange,
  printable,
  programText,
  snapshotId,
  sourceName,
  VARIABLES_FIT,
  variableName,
} from '../request-fields.ts';
import { SECRET_FILE, secretName } from '../secrets/secret.ts';
import { waitSpec } from '../waitpoints/waiting.ts';
import { concurrencyRule, FUNCTION_NAME_PATTERN, isFunctionName, retryPolicy, throttleRule } from './function.ts';
import { ON_FAILURE } from './traces.ts';

const { functions: limits, command, cpus, memoryMib } = LIMITS;

export const functionName = z
  .string()
  .refine(isFunctionName, 'is not the name of a function')
  .meta({ pattern: FUNCTION_NAME_PATTERN, example: 'summarise' });

const seconds = (limit: { min: number; max: number }) => intInRange(limit, 'seconds');
const bytes = (limit: { min: number; max: number }) => intInRange(limit, 'bytes');
export const pointer = z
  .string()
  .max(1_024)
  .regex(/^(?:\/(?:[^~/]|~[01])*)*$/u, 'is no JSON Pointer')
  .meta({ description: 'A JSON Pointer (RFC 6901) into the data of an event', example: '/customer/id' });
const callerVariable = variableName
  .regex(/^(?!MAYFLY_)/, 'must not begin with MAYFLY_')
  .meta({ pattern: '^(?!MAYFLY_)[A-Za-z_][A-Za-z0-9_]*$' });
const variable = programText(command.maxVariableBytes);

const concurrency = z.strictObject({
  limit: intInRange(limits.concurrency.limit, 'runs'),
  key: pointer.optional(),
  onFull: concurrencyRule.shape.onFull.default('queue'),
});

const throttle = z.strictObject({
  limit: intInRange(limits.throttle.limit, 'runs'),
  periodSeconds: seconds(limits.throttle.periodSeconds),
  burst: intInRange(limits.throttle.burst, 'runs').default(1),
  key: pointer.optional(),
  onFull: throttleRule.shape.onFull.default('queue'),
});

const debounce = z.strictObject({
  periodSeconds: seconds(limits.debounce.periodSeconds),
  maxWaitSeconds: seconds(limits.debounce.maxWaitSeconds),
  key: pointer.optional(),
});

const batch = z.strictObject({
  maxSize: intInRange(limits.batching.maxSize, 'events'),
  maxWaitSeconds: seconds(limits.batching.maxWaitSeconds),
  key: pointer.optional(),
});

const backoff = z.strictObject({
  initialSeconds: z.number().min(0).max(limits.backoffSeconds.max).default(1),
  factor: z.number().min(1).max(10).default(2),
  maxSeconds: z.number().min(0).max(limits.backoffSeconds.max).default(300),
  jitter: z.boolean().default(true),
});

const retriedOutcome = retryPolicy.shape.on.element;
const retry = z.strictObject({
  maxAttempts: intInRange(limits.maxAttempts, 'attempts').default(limits.maxAttempts.default),
  on: z
    .array(retriedOutcome)
    .max(retriedOutcome.options.length)
    .default([...retriedOutcome.options]),
  exitCodes: z.array(z.int().min(1).max(255)).max(255).optional(),
  backoff: backoff.prefault({}),
});

const secretUse = z
  .strictObject({
    name: secretName,
    env: callerVariable.optional().meta({ description: 'The variable that has it' }),
    file: z.string().regex(SECRET_FILE, 'is no name of a file').optional().meta({
      description: 'The file of the folder $MAYFLY_SECRETS that has it; its user alone may read it',
    }),
  })
  .refine(({ env, file }) => (env === undefined) !== (file === undefined), {
    path: ['env'],
    message: 'must be set, or `file`, and not both',
  })
  .meta({ id: 'SecretUse' });

/** True when no two secrets share a variable or a file. */
function haveDistinctTargets({ secrets, env }: { secrets: z.output<typeof secretUse>[]; env: object }): boolean {
  const variables = [...Object.keys(env), ...secrets.flatMap((each) => each.env ?? [])];
  const files = secrets.flatMap(({ file }) => file ?? []);
  return new Set(variables).size === variables.length && new Set(files).size === files.length;
}

const supersedes = ({ onFull }: z.output<typeof concurrency>) => onFull === 'cancel-running';

const setup = z
  .strictObject({
    source: sourceName,
    script: programText(command.maxLength).min(1).meta({
      description: "Run once by the shell of the function's user, among its files; it has `env`, and no secrets",
    }),
    timeoutSeconds: seconds(limits.setupSeconds).default(limits.setupSeconds.default),
  })
  .meta({
    description:
      'In place of `source`: a sandbox of that, in which the script has succeeded, is saved with its memory; each run is a fork of it',
  });

const { hibernateAfterSeconds: hibernateAfter } = limits.waitpoints;

const waitRequest = z
  .strictObject({
    time: waitSpec.shape.time.default('counts'),
    hibernateAfterSeconds: intInRange(hibernateAfter, 'seconds').nullable().default(hibernateAfter.default).meta({
      description: 'Its machine is hibernated when its process has waited for so long; null: it never is',
    }),
    releaseSlot: waitSpec.shape.releaseSlot.default(false),
  })
  .refine(({ hibernateAfterSeconds, releaseSlot }) => hibernateAfterSeconds !== null || !releaseSlot, {
    path: ['releaseSlot'],
    message: 'means nothing where its machine is never hibernated',
  })
  .meta({ description: 'What becomes of a run whose process waits for a waitpoint' });

export const deployFunction = z
  .strictObject({
    source: sourceName.optional(),
    snapshotId: snapshotId.optional(),
    setup: setup.optional(),
    files: z
      .strictObject({ tar: z.base64().max(Math.ceil(limits.filesBytes / 3) * 4) })
      .optional()
      .meta({
        description: `A tar archive, ${limits.filesBytes} bytes at most: its process begins among these files`,
      }),
    command: programText(command.maxLength).min(1).optional(),
    argv: argv.optional(),
    user: printable(32).optional(),
    env: z
      .record(callerVariable, variable)
      .refine(
        (env) => Object.keys(env).length <= command.maxVariables,
        `has more than ${command.maxVariables} variables`,
      )
      .refine(areVariablesPassable, VARIABLES_FIT)
      .refine(
        (env) => Buffer.byteLength(JSON.stringify(env)) <= limits.envBytes,
        `has more than ${limits.envBytes} bytes`,
      )
      .default({}),
    secrets: z.array(secretUse).max(limits.secrets.ofFunction).default([]).meta({
      description: 'What each attempt is given, as it is when the attempt begins: docs/secrets.md',
    }),
    input: z
      .strictObject({
        schema: z.unknown().optional().meta({ description: 'JSON Schema 2020-12 of the data of its events' }),
        maxBytes: bytes(limits.eventBytes).default(limits.eventBytes.default),
      })
      .prefault({}),
    timeoutSeconds: seconds(limits.timeoutSeconds).default(limits.timeoutSeconds.default),
    graceSeconds: seconds(limits.graceSeconds).default(limits.graceSeconds.default),
    maxEventAgeSeconds: seconds(limits.maxEventAgeSeconds).default(limits.maxEventAgeSeconds.default),
    retry: retry.prefault({}),
    idempotent: z.boolean().default(false),
    concurrency: z.array(concurrency).max(limits.concurrency.rules).default([]),
    throttle: throttle.optional(),
    debounce: debounce.optional(),
    batch: batch.optional(),
    lateBinding: z.boolean().default(false),
    priority: z.int().min(0).max(9).default(0),
    network: z.strictObject({ egress }).optional(),
    cpus: intInRange(cpus, 'CPUs').optional(),
    memoryMib: intInRange(memoryMib, 'MiB').optional(),
    result: z.strictObject({ maxBytes: bytes(limits.resultBytes).default(limits.resultBytes.default) }).prefault({}),
    artifacts: z
      .strictObject({
        globs: z.array(z.string().min(1).max(limits.globs.maxLength)).max(limits.globs.max).default(['**']),
        maxBytes: bytes(limits.artifactBytes).default(limits.artifactBytes.default),
      })
      .prefault({}),
    logBytes: bytes(limits.logBytes).default(limits.logBytes.default),
    destinations: z
      .strictObject({ onSuccess: endpointId.optional(), onFailure: endpointId.optional() })
      .prefault({})
      .meta({
        description:
          'Webhook endpoints that are told of the end of its runs, whatever types they ask for: `onSuccess` of those that succeeded; `onFailure` of those that did not, were not cancelled and not skipped',
      }),
    retentionDays: intInRange(limits.retentionDays, 'days').default(limits.retentionDays.default),
    diff: z.boolean().default(false).meta({
      description:
        'What its process changes in the file system is told: two snapshots are taken for it, and go with its sandbox',
    }),
    keep: z
      .strictObject({
        onFailure: z.enum(ON_FAILURE),
        days: intInRange(limits.keepDays, 'days').default(limits.keepDays.default),
      })
      .optional()
      .meta({
        description:
          '`disk`: of a run that ended as failed or timed-out a snapshot of the disks of its sandbox is kept for so many days',
      }),
    wait: waitRequest.optional(),
  })
  .refine((wish) => [wish.source, wish.snapshotId, wish.setup].filter((each) => each !== undefined).length === 1, {
    path: ['source'],
    message: 'must be set, or `snapshotId`, or `setup`, and no two of them',
  })
  .refine(({ command: text, argv }) => (text === undefined) !== (argv === undefined), {
    path: ['command'],
    message: 'must be set, or `argv`, and not both',
  })
  .refine(haveDistinctTargets, {
    path: ['secrets'],
    message: 'have two of one variable, which may be one of `env`, or of one file',
  })
  .refine(({ concurrency: rules }) => rules.filter(supersedes).length < 2, {
    path: ['concurrency'],
    message: 'has more than one rule with `cancel-running`',
  })
  .refine(({ concurrency: rules, priority }) => priority === 0 || !rules.some(supersedes), {
    path: ['priority'],
    message: 'means nothing with `cancel-running`: the newest run goes on',
  })
  .refine((wish) => wish.debounce === undefined || wish.batch === undefined, {
    path: ['batch'],
    message: 'must not be set together with `debounce`',
  })
  .refine(({ debounce: rule }) => rule === undefined || rule.maxWaitSeconds >= rule.periodSeconds, {
    path: ['debounce', 'maxWaitSeconds'],
    message: 'must not be less than `periodSeconds`',
  })
  .superRefine(({ batch: of, concurrency: rules, throttle: rate }, c) => {
    if (of === undefined) return;
    const keyed = [
      ...rules.map(({ key }, n) => ({ key, path: ['concurrency', n, 'key'] })),
      { key: rate?.key, path: ['throttle', 'key'] },
    ];
    for (const { key, path } of keyed) {
      if (key === undefined || key === of.key) continue;
      c.addIssue({
        code: 'custom',
        path,
        message: 'must be that of `batch`: the events of a batch have one value there',
      });
    }
  })
  .meta({ id: 'DeployFunction' });
export type DeployRequest = z.output<typeof deployFunction>;
