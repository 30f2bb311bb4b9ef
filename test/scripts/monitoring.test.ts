import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parser } from '@prometheus-io/lezer-promql';
import { Registry } from 'prom-client';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { measureRequests } from '../../api/monitoring/health.ts';
import { exec } from '../../host/os/exec.ts';
import { storeMetrics } from '../../services/metrics/store-metrics.ts';
import type { Store } from '../../store/connect.ts';
import { onPath, repository } from '../../worker/config/artifacts.mjs';

/**
 * Guards: the rules for Prometheus and Grafana in docs/monitoring.md use only metrics that /metrics has. Costs nothing.
 */

const read = (path: string) => readFileSync(join(repository, path), 'utf8');
const rule = z.strictObject({
  alert: z.string().regex(/^Mayfly[A-Za-z]+$/),
  expr: z.string(),
  for: z.string().regex(/^\d+[smh]$/),
  labels: z.strictObject({ severity: z.enum(['info', 'warning', 'critical']) }),
  annotations: z.strictObject({ summary: z.string().min(10), runbook_url: z.string() }),
});
const alerts = z.strictObject({ groups: z.array(z.strictObject({ name: z.string(), rules: z.array(rule).min(1) })) });
const dashboard = z.looseObject({
  uid: z.string(),
  panels: z.array(
    z.looseObject({
      title: z.string(),
      targets: z.array(z.looseObject({ expr: z.string(), legendFormat: z.string() })).min(1),
    }),
  ),
});

const rules = alerts.parse(parse(read('deploy/prometheus/alerts.yml'))).groups.flatMap((group) => group.rules);
const dashboards = readdirSync(join(repository, 'deploy/grafana')).map((name) =>
  dashboard.parse(JSON.parse(read(`deploy/grafana/${name}`))),
);
const expressions = [
  ...rules.map(({ expr }) => expr),
  ...dashboards.flatMap(({ panels }) => panels.flatMap(({ targets }) => targets.map(({ expr }) => expr))),
];

interface Selector {
  metric: string;
  labels: string[];
}

/** Returns the metrics of a PromQL expression, with their labels. @throws Error when it is invalid */
function selectorsOf(expr: string): Selector[] {
  const found: Selector[] = [];
  const tree = parser.parse(expr);
  tree.iterate({
    enter: ({ type, from, to }) => {
      if (type.isError) throw new Error(`no PromQL at ${from}: ${expr}`);
      if (type.name !== 'VectorSelector') return;
      const text = expr.slice(from, to);
      const labels = [...text.matchAll(/[{,]\s*(\w+)\s*(?:=~|!~|!=|=)/g)].map(([, label]) => label ?? '');
      found.push({ metric: text.split('{')[0]?.trim() ?? '', labels });
    },
  });
  return found;
}

/** Returns the metrics of /metrics, each with its labels. */
async function served(): Promise<Map<string, string[]>> {
  const registry = new Registry();
  measureRequests(registry);
  storeMetrics({} as Store, registry); // definitions only, without values
  const all = registry.getMetricsAsArray() as unknown as { name: string; type: string; labelNames: string[] }[];
  return new Map(
    all.flatMap(({ name, type, labelNames }) => {
      const names = type === 'histogram' ? [`${name}_bucket`, `${name}_sum`, `${name}_count`] : [name];
      return names.map((one) => [one, type === 'histogram' ? [...labelNames, 'le'] : labelNames] as const);
    }),
  );
}

test('every metric and label in use exists', async () => {
  const metrics = await served();
  expect(metrics.size).toBeGreaterThan(10);
  const selectors = expressions.flatMap(selectorsOf);
  expect(selectors.length).toBeGreaterThan(20);
  for (const { metric, labels } of selectors) {
    expect([...metrics.keys()], metric).toContain(metric);
    expect(metrics.get(metric), metric).toEqual(expect.arrayContaining(labels));
  }
});

test('invalid PromQL and unknown metrics are found', () => {
  expect(() => selectorsOf('rate(mayfly_x[5m')).toThrow('no PromQL');
  expect(selectorsOf('sum(mayfly_nothing{a="b"})')).toEqual([{ metric: 'mayfly_nothing', labels: ['a'] }]);
});

test('each alert has an existing runbook', () => {
  const headings = [...read('docs/monitoring.md').matchAll(/^#+ (.+)$/gm)].map(([, title = '']) =>
    title
      .toLowerCase()
      .replace(/[^\w -]/g, '')
      .replaceAll(' ', '-'),
  );
  for (const { alert, annotations } of rules) {
    const [file, heading] = annotations.runbook_url.split('#');
    expect(file, alert).toBe('docs/monitoring.md');
    expect(headings, alert).toContain(heading);
  }
});

// Without promtool the tests above still parse the same rules.
if (onPath('promtool') !== null) {
  test('promtool accepts the rules', async () => {
    const { stdout } = await exec('promtool', ['check', 'rules', join(repository, 'deploy/prometheus/alerts.yml')]);
    expect(stdout).toContain('SUCCESS');
  });
}
