// The streamed answer: 40 KB of typical model output, always the same.

const SUBJECTS = ['the queue', 'a lease', 'the write-ahead log', 'an index', 'the cache', 'a snapshot', 'the scheduler', 'a retry', 'the connection pool', 'an outbox'];

const section = (n, subject) => `## ${n}. What ${subject} is for

When **${subject}** was first described, it had one job: to keep two parts of a program from waiting for each other. In
practice it does *three* things at once, and \`func (s *Store) Step${n}\` is where they meet; see the
[notes on ${subject}](https://example.com/notes/${n}) for how that came about. What follows is the short form, with the cases
that are easy to get wrong.

### What to look for

1. **Order.** Rows come in the order of their number, never of their time. A clock that goes back by ${n * 7} ms changes nothing.
2. **Bounds.** At most \`${n * 128}\` entries are held; the one after that is refused with a sentence that says so.
   - It is refused *before* anything is written.
   - The caller may try again, with the same key, as often as it likes.
3. **Ends.** Whoever starts it stops it, and waits until it has stopped.

\`\`\`go
// Take hands out at most limit entries of ${subject}, oldest first.
func (q *Queue) Take(ctx context.Context, limit int) ([]Entry, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if limit <= 0 || limit > ${n * 128} {
		return nil, fmt.Errorf("limit is %d, and must be 1 to ${n * 128}", limit)
	}
	taken := make([]Entry, 0, limit)
	for entry := q.first; entry != nil && len(taken) < limit; entry = entry.next {
		if entry.lease.Before(q.now()) {
			taken = append(taken, *entry)
			entry.lease = q.now().Add(${n} * time.Second)
		}
	}
	return taken, ctx.Err()
}
\`\`\`

The same in a table, for ${subject} with and without what was said above:

| case | before | after | note |
|---|---:|---:|---|
| one writer | ${n * 3}.2 ms | ${n}.1 ms | the \`lock\` is not contended |
| eight writers | ${n * 31} ms | ${n * 4} ms | they share a commit |
| a writer that dies | never | ${n + 9} s | **the lease** runs out |
| a disk that is full | lost | refused | nothing is half written |

> A rule of thumb: if ${subject} can be asked twice for the same thing, it will be.
> Answer the second time as the first.

${n % 2 ? `\`\`\`ts
export async function follow(id: string, after: number): Promise<Entry[]> {
  const response = await fetch(\`/v1/entries/\${id}?after=\${after}\`);
  if (!response.ok) throw new Error(\`${subject}: \${response.status}\`);
  const { data, next } = (await response.json()) as Page<Entry>;
  return next === null ? data : [...data, ...(await follow(id, data.length + after))];
}
\`\`\`` : `\`\`\`sql
SELECT id, sequence, status FROM entries
 WHERE workspace = $1 AND status IN ('ready', 'waiting') AND sequence > ${n * 100}
 ORDER BY sequence LIMIT ${n * 10};
\`\`\``}

What remains is ~~magic~~ bookkeeping: ${subject} is asked for its oldest entry, the entry is worked on, and when that is done
the row goes. If the work fails, the row stays, its count of attempts grows by one, and it is tried again after a pause that
doubles each time, from ${n * 10} ms to at most a minute. After ten attempts somebody has to look, and \`parley doctor\` says which.
`;

// answer is a Markdown text of at most a number of bytes, or slightly less.
export function answer(bytes) {
  let text = '# Ten parts of a program that lasts\n\n';
  for (let n = 1; text.length < bytes; n++) text += `${section(n, SUBJECTS[n % SUBJECTS.length])}\n`;
  return text.slice(0, text.lastIndexOf('\n\n', bytes));
}
