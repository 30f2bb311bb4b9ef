import { expect, it } from 'vitest';
import { jobInfo } from '../../../host/libvirt/output/backup-info.ts';

const RUNNING = `Job type:         Unbounded
Operation:        Backup
Time elapsed:     982          ms
File processed:   451.938 MiB
File remaining:   7.559 GiB
File total:       8.000 GiB
`;

it('parses virsh 9.0 output of a running job, an ended one, and none', () => {
  expect(jobInfo(RUNNING)).toEqual({
    type: 'Unbounded',
    operation: 'Backup',
    progress: '451.938 MiB of 8.000 GiB',
  });
  const cancelled = 'Job type:         Cancelled   \nOperation:        Backup      \n';
  expect(jobInfo(cancelled)).toEqual({ type: 'Cancelled', operation: 'Backup', progress: null });
  expect(jobInfo('Job type:         None        \n')).toEqual({ type: 'None', operation: null, progress: null });
  expect(jobInfo('')).toEqual({ type: 'None', operation: null, progress: null });
});
