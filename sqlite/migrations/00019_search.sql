-- +goose Up

-- The index of words is derived from the record: it is made beside the transitions,
-- does not move with a copy, and can be made anew (docs/search.md).

-- How far each log is indexed.
CREATE TABLE search_logs (
  log_id       BLOB PRIMARY KEY,
  workspace_id BLOB NOT NULL,
  through      INTEGER NOT NULL,           -- sequence
  title        TEXT NOT NULL,              -- of its session, as it is indexed; so are
  visible      INTEGER NOT NULL,           -- whether the workspace sees it
  project_id   BLOB                        -- and its project
) WITHOUT ROWID;

-- What was indexed: messages, and titles of sessions. The key is the second in which
-- it was created and a number in it, so that the newest are found first, and apart
-- by little.
CREATE TABLE search_rows (
  key          INTEGER PRIMARY KEY,
  workspace_id BLOB NOT NULL,
  session_id   BLOB NOT NULL,              -- that wrote it; deleted perhaps
  log_id       BLOB NOT NULL,
  sequence     INTEGER NOT NULL,           -- 0: the title
  message_id   BLOB,                       -- null: the title
  role         TEXT NOT NULL,              -- '' of a title
  tool_name    TEXT NOT NULL,
  created_at   INTEGER NOT NULL,
  counts       BLOB NOT NULL               -- how often words occur in it
);
CREATE INDEX search_rows_log ON search_rows (log_id, sequence);

-- The words by themselves, not the texts. They are prepared before they come here:
-- what is no ASCII is a letter to this tokenizer. Beginnings of words of three letters,
-- which many words share, have an index of their own. Its segments are merged in
-- transactions of their own, and not beside what is indexed.
CREATE VIRTUAL TABLE search_words USING fts5 (words, scope, content = '', contentless_delete = 1, tokenize = 'ascii', prefix = '3');
INSERT INTO search_words (search_words, rank) VALUES ('automerge', 0);
CREATE TRIGGER search_rows_gone AFTER DELETE ON search_rows BEGIN
  DELETE FROM search_words WHERE rowid = old.key;
END;

-- The pass over all sessions that looks for what is not indexed: one row.
CREATE TABLE search_pass (
  id           INTEGER PRIMARY KEY CHECK (id = 1),
  after_id     BLOB,                       -- session that the next step begins behind; null: at the beginning
  due_at       INTEGER NOT NULL,
  completed_at INTEGER                     -- of the first pass that came to its end
);
INSERT INTO search_pass (id, due_at) VALUES (1, 0);

-- +goose Down
DROP TABLE search_pass;
DROP TRIGGER search_rows_gone;
DROP TABLE search_words;
DROP TABLE search_rows;
DROP TABLE search_logs;
