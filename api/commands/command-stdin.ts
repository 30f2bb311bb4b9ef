import type { Context } from 'hono';
import { z } from 'zod';
import { MayflyError } from '../../model/errors.ts';
import type { CommandRecord } from '../../model/sandbox/command.ts';
import { refusalOf, smallJsonOf } from '../../services/guests.ts';
import { awakeSandbox } from '../../services/sandboxes/awake-sandbox.ts';
import { actorOf } from '../http/auth.ts';
import type { Env, RequestDeps } from '../http/context.ts';
import { preferenceOf } from '../http/prefer.ts';
import { waitLimit } from '../http/waiting.ts';

const accepted = z.object({ offset: z.int().min(0) });

/**
 * POST …/stdin.
 * @throws MayflyError command_ended, stdin_conflict with the offset to go on from, host_unavailable, guest_unreachable,
 *   and as {@link awakeSandbox}
 */
export async function answerStdin(
  c: Context<Env>,
  deps: RequestDeps,
  record: CommandRecord,
  { offset = 0, close }: { offset?: number | undefined; close?: 'true' | 'false' | undefined },
): Promise<{ offset: number }> {
  if (record.state === 'ended') throw new MayflyError('command_ended', `The command ${record.id} has ended.`);
  const { store, guests } = deps;
  const wait = waitLimit(c, preferenceOf(c.req.header('prefer')).seconds);
  await awakeSandbox(deps, record.sandboxId, actorOf(c), wait);
  const body = new Uint8Array(await c.req.arrayBuffer());
  const path = `/commands/${record.id}/stdin?offset=${offset}&close=${close ?? 'false'}`;
  const { signal } = c.req.raw;
  const answer = await guests.request(record.hostId, path, { method: 'POST', body, signal });
  if (!answer.ok) throw await refusalOf(answer);
  await store.activity.touch(record.sandboxId);
  const told = accepted.safeParse(await smallJsonOf(answer));
  if (told.success) return told.data;
  throw new MayflyError('guest_failed', 'The guest did not say how much of standard input it has taken.');
}
