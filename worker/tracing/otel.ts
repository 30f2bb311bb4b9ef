import { createRequire } from 'node:module';
import { setTimeout as sleep } from 'node:timers/promises';
import { context, propagation, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { Resource } from '@opentelemetry/resources';
import { BatchSpanProcessor } from '@opentelemetry/sdk-trace-base';
import { NodeTracerProvider } from '@opentelemetry/sdk-trace-node';
import {
  makeWorkflowExporter,
  OpenTelemetryActivityInboundInterceptor,
  OpenTelemetryActivityOutboundInterceptor,
  OpenTelemetryWorkflowClientInterceptor,
} from '@temporalio/interceptors-opentelemetry';
import { createMiddleware } from 'hono/factory';
import { routePath } from 'hono/route';
import type { Env } from '../../api/http/context.ts';
import { observePrograms } from '../../host/os/program-observers.ts';
import { currentRequestId } from '../../store/audit/request-id.ts';
import { shownArguments } from './programs.ts';
import type { Tracing } from './trace-parts.ts';

/** Time limit for exporting the last spans when a process ends, ms. */
const FLUSH_MS = 1_000;
const WORKFLOW_MODULE = createRequire(import.meta.url).resolve(
  '@temporalio/interceptors-opentelemetry/lib/workflow-interceptors',
);

/**
 * Sends spans by OTLP over HTTP; the exporter itself reads OTEL_EXPORTER_OTLP_ENDPOINT and the other OTEL_ variables.
 */
export function openOtel(): Tracing {
  const resource = Resource.default().merge(
    new Resource({ 'service.name': process.env['OTEL_SERVICE_NAME'] || 'mayfly' }),
  );
  const processor = new BatchSpanProcessor(new OTLPTraceExporter());
  const provider = new NodeTracerProvider({ resource, spanProcessors: [processor] });
  provider.register();
  tracePrograms();
  return {
    client: [new OpenTelemetryWorkflowClientInterceptor()],
    activity: [
      (activity) => ({
        inbound: new OpenTelemetryActivityInboundInterceptor(activity),
        outbound: new OpenTelemetryActivityOutboundInterceptor(activity),
      }),
    ],
    workflowModules: [WORKFLOW_MODULE],
    sinks: { exporter: makeWorkflowExporter(processor, resource) },
    request: traceRequest(),
    // An unreachable collector does not delay the shutdown.
    close: () => Promise.race([provider.shutdown(), sleep(FLUSH_MS, undefined, { ref: false })]),
  };
}

/** Creates one span per request, named by its route: callers choose paths. */
function traceRequest() {
  const tracer = trace.getTracer('mayfly-api');
  return createMiddleware<Env>(async (c, next) => {
    const parent = propagation.extract(context.active(), Object.fromEntries(c.req.raw.headers));
    const span = tracer.startSpan(c.req.method, { kind: SpanKind.SERVER }, parent);
    await context.with(trace.setSpan(parent, span), next);
    const route = c.res.status === 404 ? 'none' : routePath(c, -1);
    span.updateName(`${c.req.method} ${route}`);
    span.setAttributes({
      'http.request.method': c.req.method,
      'http.route': route,
      'http.response.status_code': c.res.status,
      'mayfly.request_id': c.get('requestId'),
    });
    if (c.res.status >= 500) span.setStatus({ code: SpanStatusCode.ERROR });
    span.end();
  });
}

/** Creates a span for each program run within a trace. */
function tracePrograms(): void {
  const tracer = trace.getTracer('mayfly-programs');
  observePrograms((program, args) => {
    if (!trace.getActiveSpan()) return () => {};
    const requestId = currentRequestId();
    const span = tracer.startSpan(program, {
      attributes: {
        'process.executable.name': program,
        'process.command_args': shownArguments(program, args),
        ...(requestId !== undefined && { 'mayfly.request_id': requestId }),
      },
    });
    return (failure) => {
      // Its message may quote a guest's program: only the failure is recorded.
      if (failure) span.setStatus({ code: SpanStatusCode.ERROR });
      span.end();
    };
  });
}
