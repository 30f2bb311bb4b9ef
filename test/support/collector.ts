import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { json } from 'node:stream/consumers';
import { z } from 'zod';
import { closeServer, listen } from './listen.ts';

/** Traces of OTLP over HTTP as JSON: opentelemetry-proto, collector/trace/v1. */
const exported = z.object({
  resourceSpans: z.array(
    z.object({
      scopeSpans: z.array(
        z.object({
          spans: z.array(
            z.looseObject({
              traceId: z.string(),
              spanId: z.string(),
              parentSpanId: z.string().optional(),
              name: z.string(),
              attributes: z.array(z.unknown()),
            }),
          ),
        }),
      ),
    }),
  ),
});

export type Span = z.infer<typeof exported>['resourceSpans'][number]['scopeSpans'][number]['spans'][number];

/** Trace collector on loopback. */
export class Collector {
  readonly spans: Span[] = [];
  readonly #server: Server;

  private constructor() {
    this.#server = createServer((request, response) => void this.#take(request, response));
  }

  async #take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { resourceSpans } = exported.parse(await json(request));
    this.spans.push(...resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans)));
    response.setHeader('Content-Type', 'application/json').end('{}');
  }

  static async start(): Promise<Collector> {
    const collector = new Collector();
    await listen(collector.#server);
    return collector;
  }

  /** Environment that makes a process export its traces here, without delay. */
  get env(): NodeJS.ProcessEnv {
    const address = this.#server.address();
    const port = typeof address === 'object' ? address?.port : 0;
    return { OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}`, OTEL_BSP_SCHEDULE_DELAY: '200' };
  }

  /** Returns a span with its ancestors, up to the first without a parent here. */
  ancestors(span: Span): Span[] {
    const parent = this.spans.find(({ spanId, traceId }) => spanId === span.parentSpanId && traceId === span.traceId);
    return parent ? [span, ...this.ancestors(parent)] : [span];
  }

  async stop(): Promise<void> {
    await closeServer(this.#server);
  }
}
