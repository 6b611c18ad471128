#!/usr/bin/env bash
# System packages: Chromium and fonts, for the browser tests only. Debian and Ubuntu; does nothing when Chromium is there.
set -euo pipefail

if command -v chromium >/dev/null || command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null; then
  exit 0
fi
if ! command -v apt-get >/dev/null; then
  echo "No apt-get here: install Chromium yourself; until then the browser tests are skipped." >&2
  exit 0
fi
root=""
if [ "$(id -u)" != 0 ]; then
  if ! sudo -n true 2>/dev/null; then
    echo "Not root: run 'sudo scripts/system-packages.sh' once; until then the browser tests are skipped." >&2
    exit 0
  fi
  root="sudo"
fi
$root apt-get update -q
$root env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends chromium fonts-dejavu fonts-noto-color-emoji
