#!/bin/bash
# Makes ansible.tar.gz: ansible-core with a Python of its own, from Debian packages. ansible.sh FOLDER: an existing
# empty folder. Needs root, for mmdebstrap.
#
# Unpacked as /opt/mayfly/ansible it runs in any guest with the kernel and architecture of this machine: it has its own
# loader and libraries, so it neither changes the guest nor depends on it.
set -euo pipefail
out=$(cd "${1:?usage: ansible.sh FOLDER}" && pwd)
suite=bookworm
root=$out/root
own=$out/ansible
umask 022

# Uses the host's own mirror if the host is that Debian; otherwise mmdebstrap's default.
sources() {
  local host=/etc/apt/sources.list.d/debian.sources
  # shellcheck disable=SC1091
  if [ -f "$host" ] && [ "$(. /etc/os-release && printf %s "${VERSION_CODENAME:-}")" = "$suite" ]; then printf %s "$host"; fi
}

echo 'fetching packages'
# Only unpacks: no package code runs here.
# shellcheck disable=SC2046
mmdebstrap --mode=root --variant=extract --include=ansible-core,python3-apt --aptopt='APT::Install-Recommends "false"' \
  "$suite" "$root" $(sources)

echo 'taking what Ansible needs'
python=$(basename "$(readlink "$root/usr/bin/python3")")
mkdir -p "$own/usr/bin" "$own/usr/lib/python3" "$own/lib"
cp "$root/usr/bin/$python" "$own/usr/bin/"
cp -r "$root/usr/lib/$python" "$own/usr/lib/"
cp -r "$root/usr/lib/python3/dist-packages" "$own/usr/lib/python3/"
# Parts that playbooks here never use.
rm -rf "$own/usr/lib/$python"/{test,idlelib,tkinter,ensurepip,distutils,pydoc_data,turtledemo} \
  "$own/usr/lib/python3/dist-packages"/{ansible_test,cryptography,ansible/galaxy/data}
libraries=$root/usr/lib/$(basename "$(dirname "$(ls "$root"/usr/lib/*/libpython* "$root"/usr/lib/*/libz.so.1 "$root"/lib/*/libz.so.1 2>/dev/null | head -1)")")
wanted() { find "$own" -type f \( -name '*.so*' -o -path '*/bin/*' \) -exec readelf -d {} + 2>/dev/null | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | sort -u; }
# Libraries need libraries: repeats until nothing is missing.
for _ in 1 2 3 4 5 6; do
  for name in $(wanted); do
    found=$(find "$libraries" "$root"/lib/*/ -maxdepth 1 -name "$name" 2>/dev/null | head -1)
    if [ -n "$found" ] && [ ! -e "$own/lib/$name" ]; then cp -L "$found" "$own/lib/$name"; fi
  done
done
loader=$(basename "$(ls "$root"/lib*/ld-linux* | head -1)")
cp -L "$(find "$root"/lib "$root"/usr/lib -name "$loader" | head -1)" "$own/lib/ld.so"
cat >"$own/python" <<'END'
#!/bin/sh
# Python for Ansible and its modules. Leaves the environment unchanged, since programs of the guest inherit it.
own=${0%/*}
exec "$own/lib/ld.so" --library-path "$own/lib" --argv0 "$own/usr/bin/python3" "$own/usr/bin/python3" -B "$@"
END
ln -s "$python" "$own/usr/bin/python3"
# Each task is an archive of sources that would recompile the common imports: this provides them compiled.
echo 'import ansible.module_utils.basic' >"$own/usr/lib/python3/dist-packages/mayfly-modules.pth"
chmod 0755 "$own/python" "$own/lib/ld.so"
# Compiles once here, instead of in every guest at every start.
"$own/python" -m compileall -q --invalidation-mode unchecked-hash "$own/usr/lib" >/dev/null || true
"$own/python" -c 'import ansible.release, apt_pkg, yaml, jinja2; print(ansible.release.__version__)' >"$out/version"
echo 'packing'
tar --create --sort=name --owner=0 --group=0 --numeric-owner --directory="$out" ansible | gzip -6 >"$out/ansible.tar.gz"
rm -rf --one-file-system "$root" "$own"
chmod 0444 "$out/ansible.tar.gz" "$out/version"
