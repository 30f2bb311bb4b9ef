import { expect, vi } from 'vitest';
import { NO_TEMPLATES } from '../../../host/templates.ts';
import { MayflyError } from '../../../model/errors.ts';
import { eventually } from '../../support/eventually.ts';
import { useImageCases } from '../../support/image-cases.ts';

/** Images with a readiness check, on process trees. */
const { test, door } = useImageCases();

test('is checked in a fresh machine, repeatedly until it is ready, before its source is created', async ({
  mayfly,
  operations,
  images,
}) => {
  const ready = '[ -f /made ] && [ -f /srv/seen ] && echo "$WHO has it" || { touch /srv/seen; exit 1; }';
  const image = await images.build('ENV WHO=me\nRUN touch /made', { ready });
  expect(image).toMatchObject({ state: 'ready', failure: null, ready: { text: `ready: ${ready}` } });
  const { sandboxId = '', id = '' } = image.ready?.command ?? {};
  expect(await mayfly.record(sandboxId)).toMatchObject({ state: 'destroyed', spec: { network: { egress: 'none' } } });
  const last = await mayfly.store.output.last(id, 'stdout');
  expect(last?.chunk.bytes && Buffer.from(last.chunk.bytes).toString()).toBe('me has it\n');
  const clone = await mayfly.create(mayfly.input({ source: image.name }));
  // The changes in the checked machine reach no clone; the check itself is in every clone.
  expect(await operations.sh(clone.id, 'ls /srv; grep -c "has it" /etc/mayfly-image/ready')).toBe('1\n');
  await mayfly.destroy(clone.id);

  const other = await images.build('ENV WHO=me\nRUN touch /made');
  expect(other).toMatchObject({ state: 'ready', ready: null, cached: 1, done: 2 });
  expect(other.snapshotId).not.toBe(image.snapshotId);
});

test('a check that never succeeds fails the build with the end of its output, and retains its snapshots', async ({
  mayfly,
  images,
}) => {
  const image = await images.build('RUN true', { ready: 'echo it is why >&2; exit 9', readySeconds: 1 });
  expect(image).toMatchObject({
    state: 'failed',
    done: 2,
    failure: {
      code: 'image_step_failed',
      message: 'ready: echo it is why >&2; exit 9: exit code 9',
      line: null,
      exitCode: 9,
      log: 'it is why\nit is not ready after 1 seconds: exit status 9\n',
    },
  });
  expect(await mayfly.record(image.ready?.command.sandboxId ?? '')).toMatchObject({ state: 'destroyed' });
  expect(await images.sources()).toEqual([]);
  expect(await mayfly.residue()).toEqual([]);
  const again = await images.build('RUN true', { ready: 'true', name: image.name });
  expect(again).toMatchObject({ state: 'ready', cached: 1 });
});

test('is cancelled during the check, in a machine that refuses requests of callers', async ({ mayfly, images }) => {
  const begun = await images.begin('RUN true', { ready: 'exit 1', readySeconds: 300 });
  const { sandboxId = '', id = '' } = begun.ready?.command ?? {};
  await eventually(() => mayfly.store.commands.get(id), { state: 'running' });
  const response = await door().call('POST', `/v1/sandboxes/${sandboxId}/commands`, { command: 'true' });
  expect(response.headers.get('X-Mayfly-Code')).toBe('sandbox_not_running');
  await images.cancel(begun);
  expect(await images.over(begun)).toMatchObject({ state: 'cancelled', failure: null });
  expect(await mayfly.record(sandboxId)).toMatchObject({ state: 'destroyed' });
  expect(await images.sources()).toEqual([]);
});

test('a template that cannot be saved fails the build, and its source is deleted', async ({ mayfly, images }) => {
  // A host with process trees makes no templates: these mocks are of a guest that does not become idle.
  const refused = new MayflyError('template_failed', 'The guest does not settle: it is not ready.');
  vi.spyOn(NO_TEMPLATES, 'keyOf').mockResolvedValue('a'.repeat(64));
  vi.spyOn(NO_TEMPLATES, 'settle').mockRejectedValue(refused);
  try {
    const image = await images.build('RUN true', { ready: 'true' });
    expect(image).toMatchObject({ state: 'failed', failure: { code: 'template_failed', line: null } });
    expect(image.failure?.message).toContain('it is not ready');
    expect(await images.sources()).toEqual([]);
    expect(await mayfly.store.bakedSources.named(image.name)).toMatchObject([{ state: 'deleted' }]);
  } finally {
    vi.restoreAllMocks();
  }
});

test('a readiness check without a command, or with too long a timeout, is refused', async () => {
  const body = { name: 'web', dockerfile: 'FROM golden-debian12\n' };
  for (const wish of [{ readySeconds: 5 }, { ready: '' }, { ready: 'a\0b' }, { ready: 'x', readySeconds: 301 }]) {
    expect((await door().call('POST', '/v1/images', { ...body, ...wish })).status).toBe(422);
  }
});
