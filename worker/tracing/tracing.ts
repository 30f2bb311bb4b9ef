import type { Config } from '../config/config.ts';
import type { Tracing } from './trace-parts.ts';

/** Loads OpenTelemetry only when an endpoint is configured. */
export async function openTracing({ otlpEndpoint }: Config): Promise<Tracing> {
  if (otlpEndpoint === undefined)
    return { client: [], activity: [], workflowModules: [], sinks: {}, close: async () => {} };
  const { openOtel } = await import('./otel.ts');
  return openOtel();
}
