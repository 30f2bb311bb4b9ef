import { wholeText } from '../http/schemas.ts';
import { sandboxParams } from '../resources/sandbox-schemas.ts';

/** The host's own way into a sandbox, which opens by certificates alone. */
export const SSH_PORT = 22;

export const portParams = sandboxParams.extend({
  port: wholeText(1, 65_535).openapi({ param: { name: 'port', in: 'path' }, description: 'Of TCP, not 22' }),
});
