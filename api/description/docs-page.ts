import { createHash } from 'node:crypto';
import { ERRORS } from '../../model/errors.ts';
import type { App } from '../http/context.ts';

const STYLE = `body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}
code,pre{font-family:ui-monospace,monospace}pre{background:#8881;padding:.75rem;overflow:auto}
summary{cursor:pointer;padding:.25rem 0}summary b{display:inline-block;width:5rem}
td,th{text-align:left;vertical-align:top;padding:.2rem 1rem .2rem 0}`;

/** Writes what /openapi.json says with textContent only: nothing in it can become markup. */
const SCRIPT = `const add=(to,tag,text)=>{const e=document.createElement(tag);if(text)e.textContent=text;to.append(e);return e};
const doc=await (await fetch('/openapi.json')).json();const root=document.getElementById('operations');
for(const [path,methods] of Object.entries(doc.paths))for(const [method,op] of Object.entries(methods)){
const d=add(root,'details');const s=add(d,'summary');add(s,'b',method.toUpperCase());add(s,'code',path);s.append(' '+(op.summary??''));
if(op.description)add(d,'p',op.description);
for(const p of op.parameters??[])add(d,'div').append(p.in+' '+p.name+(p.required?'':' (optional)')+' '+JSON.stringify(p.schema??{}));
const body=op.requestBody?.content?.['application/json']?.schema;if(body)add(d,'pre',JSON.stringify(body,null,2));
for(const [status,r] of Object.entries(op.responses))add(d,'div',status+': '+r.description)}
for(const [name,schema] of Object.entries(doc.components?.schemas??{})){const d=add(document.getElementById('schemas'),'details');
add(d,'summary',name);add(d,'pre',JSON.stringify(schema,null,2))}`;

/** /docs: the API described by itself, in one page that fetches nothing but /openapi.json from here. */
export function docsRoutes(app: App): void {
  const page = html();
  const policy = `default-src 'none'; connect-src 'self'; script-src ${hashOf(SCRIPT)}; style-src ${hashOf(STYLE)}`;
  app.get('/docs', (c) => c.html(page, 200, { 'Content-Security-Policy': policy }));
}

function hashOf(text: string): string {
  return `'sha256-${createHash('sha256').update(text).digest('base64')}'`;
}

function html(): string {
  const rows = Object.entries(ERRORS).map(
    ([code, { status, title, remedy }]) =>
      `<tr id="${code}"><td><code>${code}</code></td><td>${status}</td><td>${escaped(`${title}. ${remedy}`)}</td></tr>`,
  );
  return `<!doctype html><html lang="en"><meta charset="utf-8"><title>Mayfly API</title><style>${STYLE}</style>
<h1>Mayfly API</h1><p>Send an API key as <code>Authorization: Bearer &lt;key&gt;</code>. The whole description, for tools:
<a href="/openapi.json">/openapi.json</a>.</p><div id="operations"></div><h2>Schemas</h2><div id="schemas"></div>
<h2>Errors</h2><table>${rows.join('\n')}</table><script type="module">${SCRIPT}</script></html>`;
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
}
