/** Page for a guest that shows events in its title, and sends typed text to its server. */
export const PAGE = `<!doctype html><meta charset="utf-8"><title>ready</title>
<style>body { margin: 0; background: #fff } #button { position: absolute; left: 100px; top: 60px; width: 300px; height: 120px; background: #f00 }
textarea { position: absolute; left: 100px; top: 240px; width: 800px; height: 200px; background: #0f0 }</style>
<div id="button"></div><textarea></textarea>
<script>
const text = document.querySelector('textarea');
if (location.protocol === 'file:') {
  document.title = 'ready as a file';
  button.style.background = '#ff0';
}
button.onclick = () => { button.style.background = '#00f'; document.title = 'clicked'; };
text.onfocus = () => { document.title = 'focused'; };
let sent = '', isBusy = false;
text.oninput = async () => {
  if (isBusy) return;
  for (isBusy = true; sent !== text.value; ) {
    const now = text.value;
    await fetch('/typed', { method: 'POST', body: now });
    sent = now;
  }
  isBusy = false;
};
</script>`;

/** File where the server below stores typed text. */
export const TYPED = '/home/sandbox/typed';
export const PAGE_PORT = 8_000;
export const PAGE_FOLDER = '/home/sandbox/page';

export const SERVER = `import http.server, os
os.chdir('${PAGE_FOLDER}')
class Handler(http.server.SimpleHTTPRequestHandler):
    def do_POST(self):
        with open('${TYPED}.new', 'wb') as file:
            file.write(self.rfile.read(int(self.headers['Content-Length'])))
        os.rename('${TYPED}.new', '${TYPED}')
        self.send_response(204)
        self.end_headers()
http.server.ThreadingHTTPServer(('127.0.0.1', ${PAGE_PORT}), Handler).serve_forever()
`;
