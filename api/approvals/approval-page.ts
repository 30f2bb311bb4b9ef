import { INVISIBLE } from '../../model/approvals/visible-text.ts';
import { PAGE_POLICY } from '../description/docs-page.ts';
import { type App, open } from '../http/context.ts';

const STYLE = `:root{color-scheme:light dark}body{margin:2rem auto;max-width:60rem;padding:0 1rem;font:16px/1.5 system-ui,sans-serif}
pre{white-space:pre-wrap;overflow-wrap:anywhere;border:1px solid;padding:1rem}input{width:30rem;max-width:100%}
label{display:block;margin:.5rem 0}[hidden]{display:none}
`;

/** Script that shows callers' text with unseen characters escaped, and never as HTML. */
const SCRIPT = `const $ = (id) => document.getElementById(id);
const id = location.hash.slice(1);
const path = '/v1/approvals/' + encodeURIComponent(id);
const escaped = (one) => (one === ' ' || one === '\\n' ? one : '\\\\u{' + one.codePointAt(0).toString(16) + '}');
const shown = (value) => JSON.stringify(value, null, 2).replace(${INVISIBLE}, escaped);
let digest = '';
async function ask(path, body) {
  const headers = { Authorization: 'Bearer ' + $('key').value.trim() };
  if (body) headers['Content-Type'] = 'application/json';
  const response = await fetch(path, { method: body ? 'POST' : 'GET', headers, redirect: 'error', ...(body && { body: JSON.stringify(body) }) });
  const answer = await response.json();
  if (!response.ok) throw new Error([answer.title, answer.detail, answer.remedy].filter(Boolean).join(' '));
  return answer;
}
async function act(path, body) {
  $('said').textContent = '';
  try {
    const approval = await ask(path, body);
    digest = approval.digest;
    $('state').textContent = approval.id + ' is ' + approval.state;
    $('record').textContent = shown(approval);
    $('record').hidden = false;
    $('decision').hidden = approval.state !== 'awaiting-approval';
  } catch (error) {
    $('said').textContent = String(error.message);
  }
}
const decide = (verb) => act(path + '/' + verb, { digest, ...($('reason').value && { reason: $('reason').value }) });
addEventListener('hashchange', () => location.reload());
$('id').textContent = /^apr-[0-9a-z]{16}$/.test(id) ? id : 'no approval: the address ends in #apr-…';
$('login').addEventListener('submit', (event) => { event.preventDefault(); act(path); });
$('approve').addEventListener('click', () => decide('approve'));
$('refuse').addEventListener('click', () => decide('refuse'));
`;

const PAGE = `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Mayfly: an approval</title><link rel="icon" href="data:,"><link rel="stylesheet" href="/approvals/page.css">
<h1>What waits for approval</h1><p id="id"></p>
<form id="login"><label>Your own API key: it is kept in this page alone, until you leave it<br>
<input id="key" type="password" autocomplete="off" required></label><button>Log in and look</button></form>
<p id="said" role="alert"></p><h2 id="state"></h2><pre id="record" hidden></pre>
<div id="decision" hidden><label>Reason, if you like<br><input id="reason" autocomplete="off"></label>
<button id="approve">Approve, once</button> <button id="refuse">Refuse</button></div>
<script src="/approvals/page.js"></script></html>`;

/** Serves /approvals#apr-…: a static, public page on which a decider enters a key and decides. */
export function approvalPageRoutes(app: App): void {
  for (const [path, text, type] of [
    ['/approvals', PAGE, 'text/html'],
    ['/approvals/page.js', SCRIPT, 'text/javascript'],
    ['/approvals/page.css', STYLE, 'text/css'],
  ] as const) {
    app.get(path, open, (c) => c.body(text, 200, { ...PAGE_POLICY, 'Content-Type': `${type}; charset=utf-8` }));
  }
}
