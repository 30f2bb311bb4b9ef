import { expect, test } from 'vitest';
import { collectResult, type Place } from '../../activities/function/collected.ts';
import type { GuestRequests } from '../../activities/function/guest-requests.ts';
import { RESULT_FILE } from '../../model/functions/guest-layout.ts';
import { Mask } from '../../model/secrets/mask.ts';

const MAX = 1_000;

/** Returns the collected text of a result, and the error code of its parse. */
async function kept(text: string, secret: string): Promise<{ text: string; code: string | undefined }> {
  const written = Buffer.from(text);
  const found = { type: 'file', size: written.length };
  const guest = { look: async (path: string) => (path === RESULT_FILE ? found : null), read: async () => written };
  let stored = Buffer.alloc(0);
  const put = async (_id: string, _what: string, bytes: Buffer<ArrayBuffer>) => {
    stored = bytes;
  };
  const place = { runContents: { put }, runId: 'run-1', mask: new Mask([secret]) } as unknown as Place;
  const { problem } = await collectResult(
    guest as unknown as GuestRequests,
    place,
    { result: { maxBytes: MAX } },
    false,
  );
  return { text: stored.toString(), code: problem?.code };
}

test.each([
  ['{"pin":8612345907,"at":1}', '8612345907', '{"pin":"***","at":1}', undefined],
  ['{"pin":"8612345907","at":1}', '8612345907', '{"pin":"***","at":1}', undefined],
  ['{"pin":*** 8612345907}', '8612345907', '{"pin":*** ***}', 'result_invalid'],
  ['{"a":[10,20,30]}', '10,20,30', '{"a":["***"]}', undefined],
  ['{"a":[10,20,30]}', '[10,20,30', '{"a":***]}', 'result_invalid'],
])('%s with the secret %s', async (text, secret, expected, code) => {
  expect(await kept(text, secret)).toEqual({ text: expected, code });
});
