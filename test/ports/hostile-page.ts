/** Origins for the pages of {@link hostilePage}. */
export interface Attacked {
  /** Origin of an open port whose cookie the browser has. */
  victim: string;
  /** Origin of the API. */
  api: string;
  /** URL to visit after all attempts. */
  next: string;
}

/** Returns a page that tries attacks from its browser, and reports the results to its own program. */
export function hostilePage(attacked: Attacked): string {
  return `<!doctype html><meta charset="utf-8"><title>hostile</title><body><script>
const { victim, api, next } = ${JSON.stringify(attacked)};
const results = {};
async function attempt(name, act) {
  try { results[name] = String(await act()); } catch (error) { results[name] = 'refused: ' + error.name; }
}
const loaded = (element, from) => new Promise((resolve) => {
  element.onload = () => resolve('loaded');
  element.onerror = () => resolve('failed');
  if (from) element.src = from;
  document.body.append(element);
});
async function framed(from) {
  const frame = document.createElement('iframe');
  await loaded(frame, from);
  return frame.contentDocument ? frame.contentDocument.body.textContent : 'closed';
}
async function posted() {
  const frame = document.createElement('iframe');
  frame.name = 'posted';
  const form = document.createElement('form');
  Object.assign(form, { method: 'POST', action: victim + '/posted', target: 'posted' });
  document.body.append(form);
  const done = loaded(frame);
  form.submit();
  await done;
  return frame.contentDocument ? frame.contentDocument.body.textContent : 'closed';
}
const socket = () => new Promise((resolve) => {
  const opened = new WebSocket(victim.replace('http', 'ws') + '/socket');
  opened.onopen = () => resolve('open');
  opened.onerror = () => resolve('failed');
});
(async () => {
  await attempt('cookie', () => { document.cookie = 'evil=1; Domain=localhost; Path=/'; return document.cookie; });
  await attempt('read', async () => (await fetch(victim + '/read', { credentials: 'include' })).text());
  await attempt('blind', async () => (await fetch(victim + '/blind', { credentials: 'include', mode: 'no-cors' })).type);
  await attempt('written', async () => (await fetch(victim + '/written', { credentials: 'include', mode: 'no-cors', method: 'POST', body: 'x' })).type);
  await attempt('framed', () => framed(victim + '/framed'));
  await attempt('posted', posted);
  await attempt('image', () => loaded(document.createElement('img'), victim + '/image'));
  await attempt('script', () => loaded(document.createElement('script'), victim + '/script'));
  await attempt('socket', socket);
  await attempt('opened', async () => {
    const other = window.open(victim + '/opened');
    if (!other) return 'no window';
    await new Promise((resolve) => setTimeout(resolve, 500));
    return other.document.body.textContent;
  });
  await attempt('storage', () => { localStorage.setItem('a', 'b'); return 'own'; });
  await attempt('api', async () => (await fetch(api + '/v1/sandboxes', { credentials: 'include' })).status);
  await attempt('apiKey', async () => (await fetch(api + '/v1/sandboxes', { headers: { authorization: 'Bearer guessed' } })).status);
  await attempt('apiPage', () => framed(api + '/docs'));
  await fetch('results' + location.search, { method: 'POST', mode: 'no-cors', body: JSON.stringify(results) });
  location = next;
})();
</script>`;
}
