#!/bin/bash
# mmdebstrap extract hook: makes dpkg exclude manuals, translations and documents except licenses, and removes those
# that mmdebstrap itself has extracted. As --dpkgopt they would cost 15 s: mmdebstrap then pipes each archive
# through Python.
set -euo pipefail
root=$1

cat >>"$root/etc/dpkg/dpkg.cfg.d/99mmdebstrap" <<'END'
path-exclude=/usr/share/man/*
path-exclude=/usr/share/locale/*
path-exclude=/usr/share/doc/*
path-include=/usr/share/doc/*/copyright
END
find "$root"/usr/share/{man,locale} ! -type d -delete
find "$root/usr/share/doc" ! -type d ! -name copyright -delete
# mmtarfilter and dpkg create no empty folders.
find "$root"/usr/share/{man,locale,doc} -mindepth 1 -type d -empty -delete
