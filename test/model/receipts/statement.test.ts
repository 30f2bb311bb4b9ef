import { expect, it } from 'vitest';
import { buildStatement } from '../../../model/receipts/statement.ts';
import { runRecord } from '../../store/run-records.ts';

const NOTHING = { spec: null, disks: {}, logs: [], proofs: [], diffDigest: null, auditHead: null, builder: 'urn:b' };
const GATHERED = { runId: 'run-member', id: '1', source: '/s', type: 't', time: null, bytes: 5 };

function said(changes: Parameters<typeof runRecord>[1], eventDigest: string | null = 'e'.repeat(64)) {
  const { buildDefinition, runDetails } = buildStatement({
    ...NOTHING,
    run: runRecord(1, changes),
    eventDigest,
  }).predicate;
  return { ...buildDefinition, end: runDetails.metadata['mayfly_run'] };
}

it('a batch names its event and the gathered runs', () => {
  const { externalParameters, resolvedDependencies } = said({ isBatch: true, events: [GATHERED] });
  const { bytes: _bytes, ...named } = GATHERED;
  expect(externalParameters).toMatchObject({ events: [named], event: expect.not.objectContaining({ sentDigest: {} }) });
  expect(externalParameters['event']).not.toHaveProperty('sentDigest');
  const event = { name: 'event.json', mediaType: 'application/cloudevents-batch+json' };
  expect(resolvedDependencies[0]).toMatchObject(event);
});

it.each([
  ['a member its batch', { batch: 'run-batch' }],
  ['a replay its first run', { replayOf: 'run-first', redriveOf: null }],
  ['a redriven run its first', { replayOf: 'run-first', redriveOf: 'run-first' }],
  ['one in whose place another is, that', { supersededBy: 'run-newer' }],
])('%s', (_what, changes) => {
  expect(said(changes).end).toMatchObject(changes);
});
