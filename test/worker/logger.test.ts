import { expect, test } from 'vitest';
import { createLogger, lineForPerson } from '../../worker/config/logger.ts';

const SECRET = 'hunter2hunter2';

function logged(write: (logger: ReturnType<typeof createLogger>) => void): string {
  const lines: string[] = [];
  write(createLogger('debug', { write: (line) => void lines.push(line) }));
  return lines.join('');
}

test.each<[string, (logger: ReturnType<typeof createLogger>) => void]>([
  ['a message', (logger) => logger.info(`ran tool --password ${SECRET}`)],
  ['an argument of a message', (logger) => logger.info('ran %s', `tool --password ${SECRET}`)],
  ['a field', (logger) => logger.debug({ args: ['tool', '--password', SECRET] }, 'ran')],
  ['a field of that name', (logger) => logger.debug({ deep: { apiKey: SECRET } }, 'ran')],
  ['an error', (logger) => logger.error(new Error(`PASSWORD=${SECRET}`))],
  ['an error in a field', (logger) => logger.error({ err: new Error(`PASSWORD=${SECRET}`) })],
  [
    'the cause of one',
    (logger) => logger.error({ err: new Error('x', { cause: new Error(`PASSWORD=${SECRET}`) }) }, 'x'),
  ],
])('a log has no secret in %s', (_where, write) => {
  const line = logged(write);
  expect(line).not.toContain(SECRET);
  expect(line).toContain('[redacted]');
  expect(JSON.parse(line)).toMatchObject({ name: 'mayfly' });
});

test('an error is logged with its stack', () => {
  expect(JSON.parse(logged((logger) => logger.error({ err: new Error('why') }, 'what')))).toMatchObject({
    msg: 'what',
    err: { message: 'why', stack: expect.stringContaining('logger.test.ts') },
  });
});

test('a terminal gets a readable line, in which nothing moves a cursor', () => {
  const line = logged((logger) => logger.warn({ err: new Error('why\u001b[2J'), id: 'sbx-1' }, 'what\n'));
  expect(lineForPerson(line)).toMatch(/^\d\d:\d\d:\d\d warn what\\n id="sbx-1" "why\\u001b\[2J"\n$/);
});
