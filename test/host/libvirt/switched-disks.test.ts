import { expect, test } from 'vitest';
import { snapshotCommand } from '../../../host/libvirt/layers/switched-disks.ts';

const move = { target: 'vda', frozen: '/s/vda.qcow2', overlay: '/w/a,b.qcow2' };

test('every drive is named: switched ones and others', () => {
  const words = snapshotCommand('sbx-a', ['vda', 'sda'], [move], { quiesce: true, memory: null });
  expect(words.join(' ')).toBe(
    'snapshot-create-as sbx-a --no-metadata --atomic --reuse-external --disk-only --quiesce ' +
      '--diskspec vda,file=/w/a,,b.qcow2 --diskspec sda,snapshot=no',
  );
});

test('saved memory goes to its own file', () => {
  const words = snapshotCommand('sbx-a', ['vda'], [move], { quiesce: false, memory: '/s/m,x.save' });
  expect(words.slice(5, 8)).toEqual(['--live', '--memspec', 'file=/s/m,,x.save,snapshot=external']);
  expect(words).not.toContain('--disk-only');
  expect(words).not.toContain('--quiesce');
});
