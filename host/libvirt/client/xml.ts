import { XMLBuilder, XMLParser, XMLValidator } from 'fast-xml-parser';

/** XML element; order, attributes, namespace prefixes and unknown children stay as they were read. */
export interface Element {
  name: string;
  attributes: Record<string, string>;
  children: (Element | string)[];
}

/** Node of fast-xml-parser under `preserveOrder`. */
type RawNode = { [key: string]: RawNode[] | Record<string, string> | string | undefined };

const ATTRIBUTES = ':@';
const TEXT = '#text';
const COMMON = { preserveOrder: true, ignoreAttributes: false, attributeNamePrefix: '' } as const;

const parser = new XMLParser({ ...COMMON, parseTagValue: false, parseAttributeValue: false, htmlEntities: true });
const builder = new XMLBuilder({ ...COMMON, suppressEmptyNode: true, suppressBooleanAttributes: false });

/**
 * Parses a document. Comments and processing instructions are left out.
 * @throws SyntaxError when it is not well-formed, or has a document type (entities are refused).
 */
export function parseXml(text: string): Element {
  if (/<!DOCTYPE/i.test(text)) throw new SyntaxError('a document type is not accepted');
  const valid = XMLValidator.validate(text);
  if (valid !== true) throw new SyntaxError(`line ${valid.err.line}: ${valid.err.msg}`);
  const nodes: RawNode[] = parser.parse(text);
  const root = nodes.map(fromRaw).find((node) => typeof node !== 'string' && !node.name.startsWith('?'));
  if (!root || typeof root === 'string') throw new SyntaxError('it has no root element');
  return root;
}

export function buildXml(root: Element): string {
  return builder.build([toRaw(root)]);
}

export function element(
  name: string,
  attributes: Record<string, string> = {},
  ...children: (Element | string)[]
): Element {
  return { name, attributes, children };
}

export function childElements(parent: Element, name?: string): Element[] {
  return parent.children.filter((c) => typeof c !== 'string').filter((c) => name === undefined || c.name === name);
}

export function child(parent: Element, name: string): Element | undefined {
  return childElements(parent, name)[0];
}

/** Reports whether a text or an attribute of the element or its descendants is a path in that folder. */
export function namesFileIn(node: Element, folder: string): boolean {
  const isIn = (text: string) => text.trim().startsWith(`${folder}/`);
  if (Object.values(node.attributes).some(isIn)) return true;
  return node.children.some((one) => (typeof one === 'string' ? isIn(one) : namesFileIn(one, folder)));
}

export function textOf(node: Element | undefined): string {
  return (node?.children ?? [])
    .filter((c) => typeof c === 'string')
    .join('')
    .trim();
}

export function setText(node: Element, text: string): void {
  node.children = [text];
}

/** Removes the child elements that `unwanted` names or picks. */
export function removeChildren(parent: Element, unwanted: readonly string[] | ((c: Element) => boolean)): void {
  const goes = typeof unwanted === 'function' ? unwanted : (c: Element) => unwanted.includes(c.name);
  parent.children = parent.children.filter((c) => typeof c === 'string' || !goes(c));
}

/** Returns the first child of that name, appending one if missing. */
export function ensureChild(parent: Element, name: string): Element {
  const found = child(parent, name);
  if (found) return found;
  const made = element(name);
  parent.children.push(made);
  return made;
}

function fromRaw(raw: RawNode): Element | string {
  const name = Object.keys(raw).find((key) => key !== ATTRIBUTES) ?? TEXT;
  const content = raw[name];
  if (name === TEXT) return typeof content === 'string' ? content : '';
  const attributes = raw[ATTRIBUTES];
  return {
    name,
    attributes: typeof attributes === 'object' && !Array.isArray(attributes) ? attributes : {},
    children: Array.isArray(content) ? content.map(fromRaw) : [],
  };
}

function toRaw(node: Element | string): RawNode {
  if (typeof node === 'string') return { [TEXT]: node };
  return { [node.name]: node.children.map(toRaw), [ATTRIBUTES]: node.attributes };
}
