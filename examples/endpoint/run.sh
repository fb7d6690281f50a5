#!/usr/bin/env bash
# Evaluates a graph behind an endpoint and writes the result back beside it.
set -euo pipefail
cd "$(dirname "$0")"
port=${PORT:-7878}
server=http://127.0.0.1:$port
store=$(mktemp -d)

# A store with a graph in it; with a server of your own, you need none of this.
oxigraph load --location "$store" --file ../motivating/kg.ttl --graph http://example.org/sports
oxigraph serve --location "$store" --bind "127.0.0.1:$port" &
process=$!
trap 'kill $process; rm -r "$store"' EXIT
for _ in $(seq 100); do
  curl --silent --output /dev/null "$server" && break
  sleep 0.1
done

kgeval evaluate --config kgeval.toml --endpoint "$server/query" --update-endpoint "$server/update"

echo "What is wrong, as the store tells it:"
curl --silent --fail --header 'Accept: text/csv' --data-urlencode query@wrong.rq "$server/query"
