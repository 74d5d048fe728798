#!/usr/bin/env bash
# Puts everything that the ledger needs to run into an empty directory: built code, production dependencies, and the native client for this libc.
# The Dockerfile calls it, and `npm test` does, so that what runs in a container is what was tested.
#
#   deploy/build.sh /opt/tally
#   (cd /opt/tally && node dist/apps/ledger/main.js)
set -euo pipefail
root="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
prefix="${1:?Name the empty directory to build into: deploy/build.sh /opt/tally}"
mkdir -p "$prefix"
prefix="$(cd "$prefix" && pwd)"
if [ -n "$(ls -A "$prefix")" ]; then
  echo "$prefix is not empty." >&2
  exit 1
fi

# Sets the clone up as well: packages, and the native client, downloaded or built for this libc.
node "$root/scripts/build.mjs" --if-stale

# The manifests of all workspaces, for npm to install what they need in production and nothing else.
cd "$root"
for manifest in package.json package-lock.json .npmrc libs/*/package.json apps/*/package.json; do
  mkdir -p "$prefix/$(dirname "$manifest")"
  cp "$manifest" "$prefix/$manifest"
done
(cd "$prefix" && npm ci --omit=dev --ignore-scripts --prefer-offline --no-audit --no-fund --no-update-notifier)

# Built code. What only tests and declarations need stays behind.
for library in libs/*/dist; do
  [ "$library" = libs/testing/dist ] || cp -R "$library" "$prefix/$library"
done
mkdir -p "$prefix/dist/apps"
cp -R dist/apps/ledger dist/apps/ledger-tools "$prefix/dist/apps/"
find "$prefix/libs" "$prefix/dist" "$prefix/node_modules" -type f \( -name '*.d.ts' -o -name '*.d.cts' -o -name '*.d.mts' -o -name '*.map' -o -name '.tsbuildinfo' \) -delete

# The native client without its sources and intermediate files, as it was loaded here.
client=node_modules/@confluentinc/kafka-javascript
(cd "$prefix/$client" && rm -rf deps src util scripts examples test)
for file in "$client"/build/Release/*.node "$client"/build/deps/*.so "$client"/build/deps/*.so.*; do
  [ -e "$file" ] || continue
  mkdir -p "$prefix/$(dirname "$file")"
  cp -P "$file" "$prefix/$file"
done
# The database ships libraries for every system; this one's is enough.
here="$(node -p 'process.platform + "-" + process.arch')"
find "$prefix/node_modules/classic-level/prebuilds" -mindepth 1 -maxdepth 1 -type d ! -name "$here" -exec rm -rf {} +

# Nothing runs from there without these two.
(cd "$prefix" && node -e "require('@confluentinc/kafka-javascript'); require('classic-level')")
echo "Built into $prefix: $(du -sm "$prefix" | cut -f1) MB"
