#!/usr/bin/env bash
# A tour of the command line in a project that has the package: bash tour.sh
set -euo pipefail
PORT=${PORT:-41241}
agent=http://127.0.0.1:$PORT
cleanup() { kill $(jobs -p) 2>/dev/null || true; wait; }
trap cleanup EXIT

# An agent to try things on. It prints its URLs once it listens. Without npx in between, `kill` reaches it.
node_modules/.bin/trivium demo --port "$PORT" --store tasks.db > demo.log &
until grep -qs HTTP+JSON demo.log; do sleep 0.1; done

echo "== card"
npx trivium card "$agent" | grep -o '"name":"Text Analyst"'

echo "== send"
npx trivium send "$agent" "The tide turns. The tide runs." | grep -o '^- [0-9]* words'
echo "The tide turns." | npx trivium send "$agent" - | grep -o '^- [0-9]* words'

echo "== call"
npx trivium call "$agent" ListTasks '{"pageSize":1}' | grep -o '"totalSize":2'
npx trivium call "127.0.0.1:$PORT" SendStreamingMessage '{"message":{"parts":[{"text":"The tide."}]}}' | grep -c artifactUpdate
npx trivium call "$agent" GetTask '{"id":"none"}' || echo "exit code $?"

echo "== gateway"
node_modules/.bin/trivium gateway "$agent" --port "$((PORT + 1))" > gateway.log &
until grep -q "gateway at" gateway.log; do sleep 0.1; done
hello='{"message":{"parts":[{"text":"The tide turns."}]}}'
npx trivium call "http://127.0.0.1:$((PORT + 1))" SendMessage "$hello" --protocol-version 0.3 --text | grep -o '^- [0-9]* words'

echo "== db"
npx trivium db status --store tasks.db | grep -o '"pending":\[\]'
npx trivium db prune --store tasks.db --tasks-max 0 | grep -o '"tasks":[0-9]*'
