import { sleep } from '@temporalio/workflow';
import type { PoolRecord } from '../../model/pools/pool.ts';
import type { PoolMember } from '../../model/pools/pool-saga.ts';
import { controlUntilDone } from '../saga/control.ts';

/** Pause between two polls of ending members. Milliseconds. */
const PAUSE_MS = 500;

/** Members of a pool, existing and being created. */
interface PoolMembers {
  readonly record: PoolRecord;
  readonly makers: ReadonlySet<{ readonly sandboxId: string | null }>;
  countIdle(members: readonly PoolMember[]): void;
}

/** Retires members, except claimed ones: each member decides that itself. */
export async function retireMembers(members: readonly PoolMember[]): Promise<void> {
  const sandboxIds = members.map(({ sandboxId }) => sandboxId);
  if (sandboxIds.length > 0) await controlUntilDone.retireMembers({ sandboxIds });
}

/** Retires all members made for earlier orders, including those without a record yet. */
export async function retireEarlier(life: PoolMembers): Promise<void> {
  const { project, name, revision } = life.record;
  const sandboxIds = inFlightIds(life);
  if (sandboxIds.length > 0) await controlUntilDone.retireMembers({ sandboxIds });
  await controlUntilDone.retireEarlier({ project, name, revision });
}

/** Ends all members; returns when none is left. Each ends with its proof. */
export async function endMembers(life: PoolMembers): Promise<void> {
  const { project, name, source } = life.record;
  for (;;) {
    const { members } = await controlUntilDone.sightOfPool({ project, name, source });
    life.countIdle(members);
    if (members.length === 0 && life.makers.size === 0) return;
    const begun = inFlightIds(life).filter((id) => members.every(({ sandboxId }) => sandboxId !== id));
    if (begun.length > 0) await controlUntilDone.retireMembers({ sandboxIds: begun });
    await retireMembers(members.filter(({ stage }) => stage !== 'ending'));
    await sleep(PAUSE_MS);
  }
}

function inFlightIds({ makers }: PoolMembers): string[] {
  return [...makers].flatMap(({ sandboxId }) => (sandboxId === null ? [] : [sandboxId]));
}
