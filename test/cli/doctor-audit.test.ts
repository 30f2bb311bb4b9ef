import { expect, test } from 'vitest';
import { auditLines, isAuditWhole } from '../../cli/doctor/command.ts';
import { quietIo } from './run-line.ts';

const io = quietIo();

test('names the audit trail that cannot be continued, and the reason; hostile text is escaped', () => {
  const fault = {
    sandboxId: 'sbx-0000000000000001',
    why: 'entry 5\u001b[2J',
    since: '2026-01-01T00:00:00.000Z',
    waiting: 2,
  };
  const [line = ''] = auditLines(io, { auditFaults: [fault] });
  expect(line).toContain('sbx-0000000000000001: 2 events wait since 2026-01-01T00:00:00.000Z: entry 5');
  expect(line).not.toContain('\u001b');
  expect(isAuditWhole({ auditFaults: [fault] })).toBe(false);
  expect(isAuditWhole({ auditFaults: [] })).toBe(true);
  expect(auditLines(io, { auditUnknown: 'first mend what is missing' })).toHaveLength(1);
});
