import { childElements, type Element, textOf } from '../../host/libvirt/client/xml.ts';
import { memoryKib } from '../../host/libvirt/domain-xml/clone-resources.ts';

/** Assertion on the clone's document; its fields depend on `op`. */
export interface Assertion {
  op: string;
  path?: string;
  attr?: string;
  equals?: unknown;
  value?: string;
  regex?: string;
  contains?: string;
}

/** Returns the elements at `./a/b[@attr='v']` relative to the document's root: the XPath subset of the cases. */
export function select(root: Element, path: string): Element[] {
  return (
    path
      .replace(/^\.\//, '')
      .match(/(?:[^/[]|\[[^\]]*\])+/g)
      ?.reduce<Element[]>((nodes, step) => nodes.flatMap((node) => matching(node, step)), [root]) ?? []
  );
}

function matching(node: Element, step: string): Element[] {
  const name = step.replace(/\[.*$/, '');
  const conditions = [...step.matchAll(/\[@([\w:-]+)(?:=(['"])(.*?)\2)?\]/g)];
  return childElements(node)
    .filter((c) => name === '*' || c.name === name)
    .filter((c) =>
      conditions.every(([, attr = '', quote, value]) =>
        quote === undefined ? c.attributes[attr] !== undefined : c.attributes[attr] === value,
      ),
    );
}

/** Returns null when the assertion holds on the document, otherwise the actual value. */
export function check(assertion: Assertion, root: Element, raw: string): string | null {
  const nodes = assertion.path === undefined ? [] : select(root, assertion.path);
  const values = nodes.map((node) => node.attributes[assertion.attr ?? '']);
  const found = OPERATIONS[assertion.op]?.(assertion, nodes, values, raw);
  if (found === undefined) throw new TypeError(`no assertion ${JSON.stringify(assertion.op)}`);
  if (found) return null;
  return assertion.path === undefined ? raw : JSON.stringify(assertion.attr === undefined ? nodes : values);
}

type Operation = (a: Assertion, nodes: Element[], values: (string | undefined)[], raw: string) => boolean;

const OPERATIONS: Record<string, Operation> = {
  text: (a, nodes) => nodes.length > 0 && textOf(nodes[0]) === String(a.equals),
  attr: (a, _nodes, values) => values.length > 0 && values[0] === String(a.equals),
  attr_not: (a, _nodes, values) => values.every((value) => value !== a.value),
  attr_absent: (_a, _nodes, values) => values.every((value) => value === undefined),
  attr_all_match: (a, _nodes, values) =>
    values.length > 0 && values.every((value) => value !== undefined && new RegExp(a.regex ?? '').test(value)),
  attr_all_distinct: (_a, _nodes, values) => new Set(values).size === values.length,
  present: (_a, nodes) => nodes.length > 0,
  absent: (_a, nodes) => nodes.length === 0,
  count: (a, nodes) => nodes.length === a.equals,
  raw_contains: (a, _nodes, _values, raw) => raw.includes(a.value ?? ''),
  raw_not_contains: (a, _nodes, _values, raw) => !raw.includes(a.value ?? ''),
  memory_kib: (a, nodes) => nodes.length > 0 && memoryKib(nodes[0]) === a.equals,
};
