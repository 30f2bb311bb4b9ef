import { z } from 'zod';
import { actor, encryptedField, instant } from '../fields.ts';

/** Port of a sandbox that is open for HTTP. Ends with its sandbox; forks do not inherit it. */
export const exposedPort = z.object({
  sandboxId: z.string(),
  port: z.int(),
  project: z.string(),
  visibility: z
    .enum(['token', 'project'])
    .describe('`token`: who has a token of it. `project`: who sends an API key of its project in `X-Mayfly-Key`'),
  host: z
    .enum(['localhost', 'preserve'])
    .describe('Which `Host` the program is told: `localhost:<port>`, or the one that was asked for'),
  cors: z.boolean().describe("Pages of any origin may read its answers; the program's own CORS headers are replaced"),
  wake: z.boolean().describe('A request resumes the sandbox when it is paused or hibernated'),
  secret: encryptedField(z.string()).describe(
    '256 random bits in base64url, which sign its tokens. With another one all earlier tokens are void',
  ),
  openedBy: actor,
  openedAt: instant,
});
export type ExposedPort = z.infer<typeof exposedPort>;
/** Settings of an open port. */
export type PortSettings = Pick<ExposedPort, 'visibility' | 'host' | 'cors' | 'wake'>;
