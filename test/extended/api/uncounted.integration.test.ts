import { expect, it } from 'vitest';
import { MayflyError } from '../../../model/errors.ts';
import { NO_LIMITS } from '../../../model/project-limits.ts';
import { releaseUnstarted } from '../../../services/idempotent-call.ts';
import type { Claim } from '../../../store/access/idempotency.ts';
import type { Store } from '../../../store/connect.ts';
import { createProjectStore } from '../../../store/project-store.ts';
import { sandboxId } from '../../store/support.ts';
import { useStore } from '../../support/use-store.ts';

let store: Store;
useStore((opened) => ({ store } = opened));

const claim: Claim = { apiKeyId: 'a', key: 'once', bodyDigest: 'd', subjectId: sandboxId(1) };
const away = new MayflyError('temporal_unavailable', 'Temporal does not answer.');
const named = new MayflyError('name_taken', 'Another has it.');

it.each([
  ['without a key, Temporal away', null, away, 0],
  ['with a key, Temporal away: another request of it may begin it', claim, away, 1],
  ['with a key, its name taken', claim, named, 0],
])('%s', async (_, claim, error, counted) => {
  const id = `p${Math.random().toString(36).slice(2, 10)}`;
  await store.projects.create(id, { limits: { ...NO_LIMITS, sandboxes: 1 } });
  const own = createProjectStore(store, { project: id, isOperator: false });
  await own.admissions.admit([{ sandboxId: sandboxId(1), cpus: 1, memoryMib: 1 }], async () => false);
  await releaseUnstarted(own, { claim }, [sandboxId(1)], error);
  const { sandboxes } = await store.admissions.useOf(id);
  expect(sandboxes).toBe(counted);
});
