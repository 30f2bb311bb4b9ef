import { expect, test } from 'vitest';
import { apiServer } from '../../worker/api-part.ts';

test('an upload may take longer than the 300 s that Node gives a request; its head may not', () => {
  const { requestTimeout, headersTimeout } = apiServer({ fetch: () => new Response() });
  expect(requestTimeout).toBe(0);
  expect(headersTimeout).toBeGreaterThan(0);
});
