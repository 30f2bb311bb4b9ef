import { expect, it } from 'vitest';
import { parseCron } from '../../../model/schedules/cron.ts';

/** Guards: valid cron expressions, and named refusals of others (case 50). */
const fields = (text: string) => {
  const read = parseCron(text);
  if ('problem' in read) throw new Error(read.problem);
  return read;
};

it.each([
  ['*/20 * * * *', { minutes: [0, 20, 40] }],
  ['5/20 * * * *', { minutes: [5, 25, 45] }],
  ['1,3-5,4-8/2 * * * *', { minutes: [1, 3, 4, 5, 6, 8] }],
  ['0 9-17/4 * * mon-FRI', { hours: [9, 13, 17], daysOfWeek: [1, 2, 3, 4, 5] }],
  ['0 0 * JAN,jun 7', { months: [1, 6], daysOfWeek: [0] }],
  ['0 0 * * 5-7', { daysOfWeek: [0, 5, 6] }],
  ['0 0 * * */2', { daysOfWeek: [0, 2, 4, 6] }],
  ['0 0 13 * FRI', { isEither: true }],
  ['0 0 */2 * FRI', { isEither: false }],
  ['0 0 13 * *', { isEither: false }],
  [' 0\t0  1 1 * ', { minutes: [0], months: [1] }],
  ['@hourly', { minutes: [0] }],
  ['@Weekly', { minutes: [0], hours: [0], daysOfWeek: [0] }],
  ['0 0 29 2 *', { daysOfMonth: [29] }],
  ['0 0 30 2 MON', { isEither: true }],
])('reads %s', (text, expected) => {
  expect(fields(text)).toMatchObject(expected);
});

it.each([
  ['60 * * * *', /"60" as its minute/],
  ['* 24 * * *', /"24" as its hour/],
  ['* * 0 * *', /"0" as its day of month/],
  ['* * 32 * *', /day of month/],
  ['* * * 13 *', /month/],
  ['* * * * 8', /day of week/],
  ['* * * * MOO', /"MOO" as its day of week/],
  ['* * * MON *', /"MON" as its month/],
  ['5-1 * * * *', /ascend/],
  ['* * * * FRI-MON', /ascend/],
  ['*/0 * * * *', /"\*\/0"/],
  ['1,,2 * * * *', /""/],
  ['-1 * * * *', /"-1"/],
  ['1.5 * * * *', /"1.5"/],
  ['0x1 * * * *', /"0x1"/],
  ['1e1 * * * *', /"1e1"/],
  ['* * * *', /4 fields/],
  ['0 0 0 1 1 * 2026', /7 fields/],
  ['0 * * * * *', /6 fields/],
  ['', /1 fields/],
  [`${'*,'.repeat(300)}* * * * *`, /more than 256 characters/],
  ['@reboot', /none of @yearly/],
  ['@every 1h', /none of/],
  ['@constructor', /none of/],
  ['TZ=UTC 0 0 * * *', /6 fields/],
  ['0 0 L * *', /"L"/],
  ['0 0 15W * *', /"15W"/],
  ['0 0 * * 5#3', /"5#3"/],
  ['0 0 ? * *', /"\?"/],
  ['0 0 30 2 *', /never fires/],
  ['0 0 31 4,6,9,11 *', /never fires/],
])('refuses %s', (text, problem) => {
  expect(parseCron(text)).toEqual({ problem: expect.stringMatching(problem) });
});
