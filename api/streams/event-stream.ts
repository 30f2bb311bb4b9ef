import { z } from '@hono/zod-openapi';
import { openapiExtras } from '../http/schemas.ts';

/**
 * Returns a response of server-sent events. By convention of tools, `schema` is that of one event: OpenAPI 3.1 does not
 * define it, and 3.2 has `itemSchema`.
 */
export function eventStream<T extends z.ZodType>(description: string, event: T) {
  return { description, content: { 'text/event-stream': { schema: event } } };
}

/** @param component name of the schema of an event's `data`, as JSON */
export function eventData(component: string) {
  const contentSchema = { $ref: `#/components/schemas/${component}` };
  return z.string().openapi(openapiExtras({ contentMediaType: 'application/json', contentSchema }));
}
