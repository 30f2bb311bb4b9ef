import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { createCaptureActivities } from '../../activities/source/capture.ts';
import { Ledger } from '../../host/ledger.ts';
import { SimulatedHypervisor } from '../../host/simulated/driver.ts';
import { captureIdFrom, ID_BYTES } from '../../model/ids.ts';
import { useFreshState } from '../support/use-folder.ts';

const state = useFreshState();

test('removing a capture releases the reservation of its terminated workflow, and is idempotent', async () => {
  const ledger = new Ledger(state);
  await ledger.open();
  const sandboxId = captureIdFrom(randomBytes(ID_BYTES));
  const capacity = {
    cpus: 1,
    memoryTotalMib: 1024,
    memoryAvailableMib: 1024,
    diskTotalBytes: 1e9,
    diskAvailableBytes: 1e9,
  };
  await ledger.reserve({ sandboxId, memoryMib: 0, diskBytes: 1e8 }, capacity);
  const activities = createCaptureActivities({ hypervisor: new SimulatedHypervisor({ state }), ledger });
  const target = { sandboxId, generation: 1, source: 'web' };
  await activities.removeCapture(target);
  await activities.removeCapture(target);
  expect(ledger.totals()).toMatchObject({ diskBytes: 0 });
});
