import type { Readable } from 'node:stream';
import { Context } from '@temporalio/activity';
import type { Agent } from '../../commands/agent-commands.ts';
import type { StepContext } from '../../host/step-context.ts';
import { MayflyError } from '../../model/errors.ts';
import { isSandboxId } from '../../model/ids.ts';
import { CARRIED } from '../../model/image/stage-copy.ts';

export interface CarryDeps {
  guests: { agent(sandboxId: string, context: StepContext): Promise<Agent> };
}

/** Two sandboxes of one host. */
export interface Carrying {
  from: string;
  to: string;
}

/** What stages of a build give each other. Not steps of a sandbox: they wait for no turn. */
export function createCarryActivities({ guests }: CarryDeps) {
  return {
    /**
     * Brings the archive that a stage was packed into to another one, as a stream; over the one that is there, so that
     * another attempt does the same.
     * @throws MayflyError what keeps one of the guests from it for now
     */
    async carryImageFiles({ from, to }: Carrying): Promise<void> {
      for (const id of [from, to]) {
        if (!isSandboxId(id)) throw new MayflyError('request_refused', 'Files are carried between two sandboxes.');
      }
      const context = Context.current();
      const { cancellationSignal: signal } = context;
      let detail = 'asking the guests';
      const beat = setInterval(() => context.heartbeat(detail), (context.info.heartbeatTimeoutMs ?? 4_000) / 4);
      try {
        const alive = (said: string) => {
          detail = said;
        };
        const [source, target] = await Promise.all([from, to].map((id) => guests.agent(id, { signal, alive })));
        if (!source || !target) throw new MayflyError('image_failed', 'There are no two stages.');
        detail = `copying from ${from} to ${to}`;
        await carried(source, target, signal);
      } finally {
        clearInterval(beat);
      }
    },
  };
}

export type CarryActivities = ReturnType<typeof createCarryActivities>;

async function carried(source: Agent, target: Agent, signal: AbortSignal): Promise<void> {
  const path = `/v1/files?path=${Buffer.from(CARRIED).toString('base64url')}`;
  const read = await source.request({ method: 'GET', path, signal });
  await refuseUnless(read.status, read.body, [200]);
  const length = read.headers['content-length'];
  const headers = {
    'content-type': 'application/octet-stream',
    ...(length !== undefined && { 'content-length': length }),
  };
  try {
    const put = `${path}&mode=0600&user=root`;
    const written = await target.request({ method: 'PUT', path: put, headers, body: read.body, signal });
    await refuseUnless(written.status, written.body, [200, 201]);
    written.body.resume();
  } finally {
    read.body.destroy();
  }
}

/** What a guest gives as its reason is not trusted to be brief. */
async function refuseUnless(status: number, body: Readable, expected: readonly number[]): Promise<void> {
  if (expected.includes(status)) return;
  const said =
    status === 507 || status === 413 ? 'the guest has no room for what is copied' : `the guest answered ${status}`;
  body.destroy();
  throw new MayflyError('image_failed', `What a stage copies from another one could not be brought there: ${said}.`);
}
