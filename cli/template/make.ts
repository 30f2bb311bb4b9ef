import { setTimeout as sleep } from 'node:timers/promises';
import { type ArgsDef, defineCommand } from 'citty';
import { patiently } from '../../client/http/patient.ts';
import type { MayflyClient } from '../../client/mayfly-client.ts';
import type { Template } from '../../client/templates.ts';
import { LIMITS } from '../../model/limits.ts';
import { waitSignal } from '../sandbox/follow.ts';
import { HOST_OPTION, onHost } from '../source/host-option.ts';
import { checkArguments, JSON_OPTION, WAIT_OPTION, waitSeconds, wholeNumber } from '../terminal/arguments.ts';
import { connect } from '../terminal/connection.ts';
import { EXIT } from '../terminal/exit-codes.ts';
import type { Io } from '../terminal/io.ts';
import { withProgress } from '../terminal/progress.ts';
import { mebibytes } from '../terminal/quantities.ts';
import { templateLines } from './template-text.ts';

const ARGS = {
  source: { type: 'positional', description: 'Name of the golden VM (`mayfly source list`)', required: true },
  cpus: { type: 'string', description: "Virtual CPUs, else the source's" },
  memory: { type: 'string', valueHint: '512M', description: "Memory, such as 512M or 2G, else the source's" },
  ...HOST_OPTION,
  ...WAIT_OPTION,
  ...JSON_OPTION,
} as const satisfies ArgsDef;

const LOOK_EVERY_MS = 500;

/** `mayfly template make`: done when sandboxes can wake from it. */
export function makeCommand(io: Io) {
  return defineCommand({
    meta: { name: 'make', description: 'Boot a guest, save its memory, and try to wake from it' },
    args: ARGS,
    async run({ args, rawArgs }) {
      checkArguments(rawArgs, ARGS);
      const { cpus } = LIMITS;
      const request = {
        source: args.source,
        ...onHost(args),
        ...(args.cpus && { cpus: wholeNumber('cpus', args.cpus, cpus.min, cpus.max) }),
        ...(args.memory && { memoryMib: mebibytes('memory', args.memory, LIMITS.memoryMib) }),
      };
      const client = connect(io);
      const begun = await client.templates.make(request, { signal: io.signal });
      const { signal } = waitSignal(io, waitSeconds(args.wait));
      const template = await withProgress(io, `making a template of ${args.source}`, () =>
        settled(client, begun, signal),
      );
      if (args.json) io.printJson(template);
      else for (const line of templateLines(io, template)) io.print(line);
      if (template.state === 'ready') return EXIT.ok;
      if (isUnderWay(template)) return io.signal.aborted ? EXIT.interrupted : EXIT.waitedTooLong;
      return EXIT.failed;
    },
  });
}

/** The latest that was heard of it, when the wait is over first. */
async function settled(client: MayflyClient, begun: Template, signal: AbortSignal): Promise<Template> {
  let template = begun;
  try {
    while (isUnderWay(template)) {
      await sleep(LOOK_EVERY_MS, undefined, { signal });
      const { id } = template;
      template = await patiently(() => client.templates.get(id, { signal }), { signal });
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  }
  return template;
}

function isUnderWay({ state }: Template): boolean {
  return state === 'building' || state === 'verifying';
}
