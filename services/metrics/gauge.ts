import { Gauge, type Registry } from 'prom-client';

/** Makes a gauge of a registry. */
export function gaugeOf<T extends string>(registry: Registry, name: string, help: string, ...labelNames: T[]) {
  return new Gauge<T>({ name, help, labelNames, registers: [registry] });
}
