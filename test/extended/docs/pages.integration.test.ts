import { describe, test } from 'vitest';
import { LONG, listWalks, usePageWalks } from '../../docs/page-walks.ts';

const { runPage } = usePageWalks();

// Promise: each line of CONTRIBUTING and docs/ that is a command runs as it stands. README is in test/docs/.
const walks = listWalks().filter(([page]) => page !== 'README.md');
const isLong = ([page]: [string, string[]]) => LONG.includes(page);
describe.concurrent('each command runs as it stands', () => {
  for (const [page, commands] of walks.filter(isLong)) test(page, () => runPage(page, commands));
});
// What looks at the whole installation, or at all its keys, comes after them.
describe('and so does', () => {
  for (const [page, commands] of walks.filter((walk) => !isLong(walk))) test(page, () => runPage(page, commands));
});
