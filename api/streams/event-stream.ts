import { z } from '@hono/zod-openapi';
import { keywords } from '../http/schemas.ts';

/**
 * An answer of server-sent events. As tools take it, `schema` is that of one event: OpenAPI 3.1 does not say, and 3.2 has
 * `itemSchema` for it.
 */
export function eventStream<T extends z.ZodType>(description: string, event: T) {
  return { description, content: { 'text/event-stream': { schema: event } } };
}

/** @param component name of the schema of what the `data` of an event is the JSON of */
export function eventData(component: string) {
  const contentSchema = { $ref: `#/components/schemas/${component}` };
  return z.string().openapi(keywords({ contentMediaType: 'application/json', contentSchema }));
}
