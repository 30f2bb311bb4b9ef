import { Ajv2020 } from 'ajv/dist/2020.js';
import ajvFormats from 'ajv-formats';
import type { openApiDocument } from '../../api/description/openapi.ts';

type Document = ReturnType<typeof openApiDocument>;
type Schema = Record<string, unknown>;

interface Media {
  schema?: Schema;
  example?: unknown;
}

export interface DescribedOperation {
  operationId: string;
  method: string;
  path: string;
  requestBody?: { content: Record<string, Media> };
  responses: Record<string, { content?: Record<string, Media> }>;
}

/** Base URI of references to components. */
const DOCUMENT = 'urn:mayfly:openapi';

/** OpenAPI document as a validator of real answers. */
export class Described {
  readonly operations: DescribedOperation[];
  readonly #schemas: Schema;
  readonly #ajv = new Ajv2020({ strict: false, allErrors: true });

  constructor(document: Document) {
    ajvFormats.default(this.#ajv);
    this.operations = Object.entries(document.paths ?? {}).flatMap(([path, item]) =>
      Object.entries(item).map(([method, operation]) => ({ ...(operation as DescribedOperation), method, path })),
    );
    this.#schemas = (document.components?.schemas ?? {}) as Schema;
    const parts = partsIn(document);
    const all = Object.entries(this.#schemas).map(([name, schema]) => [name, closed(schema, parts.has(name))]);
    this.#ajv.addSchema({ $id: DOCUMENT, components: { schemas: Object.fromEntries(all) as Schema } });
  }

  /** @throws Error for an unknown name */
  operation(id: string): DescribedOperation {
    const operation = this.operations.find(({ operationId }) => operationId === id);
    if (!operation) throw new Error(`no operation is called ${id}`);
    return operation;
  }

  /** Returns the schema of an answer. @throws Error when it or its media type is not described */
  answer(id: string, status: number, type: string): Schema {
    const described = this.operation(id).responses[String(status)];
    if (!described) throw new Error(`${id} answers ${status}, which is not described`);
    const { schema } = described.content?.[type] ?? {};
    if (!schema) throw new Error(`${id} answers ${status} with ${type}, which is not described`);
    return schema;
  }

  /**
   * Lists violations of the schema, including undeclared fields. @param schema may refer to the document's components
   */
  faults(schema: Schema | false, value: unknown): string[] {
    const check = this.#ajv.compile(closed(schema) as Schema | false);
    if (check(value)) return [];
    return (check.errors ?? []).map(
      ({ instancePath, message, params }) => `${instancePath || '/'} ${message} ${JSON.stringify(params)}`,
    );
  }

  /** Lists violations in an event of a stream, and in the JSON of its data. */
  eventFaults(id: string, event: Record<string, unknown>): string[] {
    const schema = this.answer(id, 200, 'text/event-stream');
    const faults = this.faults(schema, event);
    if (faults.length > 0) return faults;
    const component = this.#schemas[String(schema['$ref']).split('/').at(-1) ?? ''] as
      | EventSchema
      | { oneOf: EventSchema[] };
    const { properties } =
      ('oneOf' in component ? component.oneOf : [component]).find(({ properties: { event: its } }) =>
        its.enum.includes(event['event']),
      ) ?? {};
    return this.faults(properties?.data.contentSchema ?? false, JSON.parse(String(event['data'])));
  }
}

interface EventSchema {
  properties: { event: { enum: unknown[] }; data: { contentSchema: Schema } };
}

/** Returns the names of components used as parts of others. */
function partsIn(value: unknown): Set<string> {
  if (typeof value !== 'object' || value === null) return new Set();
  const { allOf = [] } = value as { allOf?: { $ref?: string }[] };
  const named = Array.isArray(allOf) ? allOf.flatMap(({ $ref = '' }) => $ref.split('/').slice(-1)) : [];
  return new Set([...named, ...Object.values(value).flatMap((inner) => [...partsIn(inner)])]);
}

/** Forbids undeclared fields in objects, except in parts of an `allOf`, which don't declare those of other parts. */
function closed(value: unknown, isPart = false): unknown {
  if (Array.isArray(value)) return value.map((inner) => closed(inner, isPart));
  if (typeof value !== 'object' || value === null) return value;
  const schema: Schema = {};
  for (const [name, inner] of Object.entries(value)) {
    schema[name] =
      name === '$ref' && typeof inner === 'string' ? `${DOCUMENT}${inner}` : closed(inner, name === 'allOf');
  }
  const isOpen = schema['type'] === 'object' && 'properties' in schema && !('additionalProperties' in schema);
  return isOpen && !isPart ? { ...schema, unevaluatedProperties: false } : schema;
}
