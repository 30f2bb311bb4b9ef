import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { etag } from 'hono/etag';
import { ERRORS } from '../../model/errors.ts';
import { type App, open } from '../http/context.ts';

/** Content Security Policy: only this process; `data:` for icons in the style sheet. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** Headers of a self-contained page and its parts. Clients revalidate them, mostly with 304. */
export const PAGE_POLICY = {
  'Content-Security-Policy': POLICY,
  'X-Content-Type-Options': 'nosniff',
  'Referrer-Policy': 'no-referrer',
  'Cache-Control': 'no-cache',
};

/** Files of Swagger UI, without their copies and source maps. */
const RENDERER = {
  '/docs/swagger-ui.js': { file: 'swagger-ui-bundle.js', type: 'text/javascript' },
  '/docs/swagger-ui.css': { file: 'swagger-ui.css', type: 'text/css' },
};

/** Script that scrolls to an error's row, the `type` `/docs#<code>`, after the page above it is rendered. */
const SCRIPT = `const dark = matchMedia('(prefers-color-scheme: dark)');
const follow = () => document.documentElement.classList.toggle('dark-mode', dark.matches);
dark.addEventListener('change', follow);
follow();
SwaggerUIBundle({
  url: '/openapi.json',
  dom_id: '#operations',
  deepLinking: true,
  defaultModelsExpandDepth: 0,
  filter: true,
  validatorUrl: null,
  onComplete: () => document.getElementById(location.hash.slice(1))?.scrollIntoView(),
});
`;

const STYLE = `:root{color-scheme:light dark}body{margin:0;font:16px/1.5 system-ui,sans-serif;background:light-dark(#fafafa,#1c2022)}
main{max-width:1420px;margin:0 auto;padding:0 20px}td,th{text-align:left;vertical-align:top;padding:.2rem 1rem .2rem 0}
tr:target{background:light-dark(#fff3bf,#5c4a00)}
`;

const PAGE = `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Mayfly API</title><link rel="icon" href="data:,"><link rel="stylesheet" href="/docs/swagger-ui.css">
<link rel="stylesheet" href="/docs/page.css"><div id="operations"></div><main><h2>Errors</h2><table>
<tr><th>code<th>status<th>what it is, and what to do${Object.entries(ERRORS).map(row).join('')}</table></main>
<script src="/docs/swagger-ui.js"></script><script src="/docs/page.js"></script></html>`;

/** Serves /docs, a self-contained, public page about the API. */
export function docsRoutes(app: App): void {
  app.use('/docs/*', etag(), async (c, next) => {
    await next();
    for (const [name, value] of Object.entries(PAGE_POLICY)) c.header(name, value);
  });
  app.get('/docs', open, (c) => c.html(PAGE));
  app.get('/docs/page.js', open, (c) => c.body(SCRIPT, 200, { 'Content-Type': 'text/javascript; charset=utf-8' }));
  app.get('/docs/page.css', open, (c) => c.body(STYLE, 200, { 'Content-Type': 'text/css; charset=utf-8' }));
  for (const [path, { file, type }] of Object.entries(RENDERER)) {
    app.get(path, open, async (c) => {
      const bytes = await readFile(createRequire(import.meta.url).resolve(`swagger-ui-dist/${file}`));
      return c.body(bytes, 200, { 'Content-Type': `${type}; charset=utf-8` });
    });
  }
}

function row([code, { status, title, remedy }]: [string, { status: number; title: string; remedy: string }]): string {
  return `\n<tr id="${code}"><td><code>${code}</code><td>${status}<td>${renderText(`${title}. ${remedy}`)}`;
}

/** Renders text of the error table, whose only markup is Markdown's `code`. */
function renderText(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll(/`([^`]+)`/g, '<code>$1</code>');
}
