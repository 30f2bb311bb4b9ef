import type { Config } from '../config/config.ts';
import type { Tracing } from './trace-parts.ts';

/** Nothing of OpenTelemetry is loaded unless an endpoint is named. */
export async function openTracing({ otlpEndpoint }: Config): Promise<Tracing> {
  if (otlpEndpoint === undefined)
    return { client: [], activity: [], workflowModules: [], sinks: {}, close: async () => {} };
  const { openOtel } = await import('./otel.ts');
  return openOtel();
}
