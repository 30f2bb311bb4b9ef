import { afterAll, beforeAll, expect } from 'vitest';
import { TestDoor } from '../support/door.ts';
import { TestPlaybooks } from '../support/playbooks.ts';
import { useSagaCases } from '../support/saga-cases.ts';

/** Playbooks of process trees, which have no packages: what a playbook is written of is read by the same code. */
const { alone, mayfly: all } = useSagaCases();
let door: TestDoor;
beforeAll(async () => {
  door = await TestDoor.open(all());
});
afterAll(() => door.close());

const test = alone.extend<{ playbooks: TestPlaybooks }>({
  playbooks: async ({ mayfly }, use) => use(new TestPlaybooks(mayfly, door)),
});

test('says what changed in a sandbox', async ({ mayfly, operations, playbooks }) => {
  const { id } = await mayfly.create(mayfly.input({}));
  await operations.sh(
    id,
    'mkdir /srv/a; echo one > /srv/a/b; chmod 0640 /srv/a/b; ln -s a /srv/link; rm /home/sandbox/README',
  );
  const begun = await playbooks.begin(id);
  const over = await playbooks.over(begun);
  expect(over).toMatchObject({ failure: null });
  const files = await playbooks.files(over);
  console.error(
    JSON.stringify(over, null, 1),
    Object.fromEntries(Object.entries(files).map(([k, v]) => [k, v.toString()])),
  );
});
