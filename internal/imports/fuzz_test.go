package imports

import (
	"strings"
	"testing"

	"example.org/parley"
)

const fuzzNow = parley.Time(1_800_000_000_000)

// fuzzRead reads a file of one format. Whatever it says, a session that is read is within its bounds, hashes, and is
// read the same way again.
func fuzzRead(f *testing.F, corpus ...string) {
	f.Helper()
	for _, text := range corpus {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		format, sessions, err := Read(".dagent-worktrees/f/chat.json", []byte(text), fuzzNow)
		if err != nil {
			if code := parley.ErrorCode(err); code != parley.CodeInvalid && code != parley.CodeTooLarge {
				t.Fatalf("%q is %s: %v", text, code, err)
			}
			return
		}
		again, repeated, err := Read(".dagent-worktrees/f/chat.json", []byte(text), fuzzNow)
		if err != nil || again != format || len(repeated) != len(sessions) {
			t.Fatalf("read again it is %s with %d sessions: %v", again, len(repeated), err)
		}
		for i := range sessions {
			s := &sessions[i]
			if s.Identity != repeated[i].Identity || len(s.Messages) != len(repeated[i].Messages) ||
				len(s.Messages) > MaxMessages+2 || len(s.Left) > maxNotes {
				t.Fatalf("session %d has the identity %q, %d messages and %d notes", i, s.Identity, len(s.Messages),
					len(s.Left))
			}
			for _, m := range s.Messages {
				if !m.Status.Settled() || !m.Role.Valid() || !m.Author.ID.IsZero() || m.CreatedAt <= 0 {
					t.Fatalf("a message is %+v", m)
				}
				if _, err := parley.ChainHash(parley.Hash{}, m.ChainInput()); err != nil {
					t.Fatalf("a message has no hash: %v", err)
				}
				if err := parley.CheckJSON(m.Content); err != nil || strings.ContainsRune(string(m.Content), 0) {
					t.Fatalf("the content %q: %v", m.Content, err)
				}
			}
		}
	})
}

func FuzzChat(f *testing.F) {
	fuzzRead(f,
		`{"entries":[{"role":"user","content":"a","timestamp":"2025-01-02T10:00:00Z"}]}`,
		`{"featureId":"x","entries":[{"id":7,"role":"system","content":[{"type":"text","text":"b"},{"x":1}],`+
			`"timestamp":"2025-01-02T10:00:00Z","media":[]}]}`,
	)
}

func FuzzConversation(f *testing.F) {
	fuzzRead(f, `{"id":"a","type":"merge","featureId":"b","createdAt":"2025-01-02T10:00:00Z","messages":[{"id":"m",`+
		`"role":"assistant","content":"c","metadata":{"agentType":"qa","iteration":3,"internal":true,"taskId":"t",`+
		`"tokens":{"input":1,"output":2},"toolUse":{"name":"run","input":[1],"result":{"ok":true}}}}]}`)
}

func FuzzTaskSession(f *testing.F) {
	fuzzRead(f, `{"taskId":"1","agentId":"dev","status":"failed","startedAt":"2025-01-02T10:00:00Z","messages":[{`+
		`"direction":"task_to_harness","type":"progress","content":"d","metadata":{"toolName":"w","toolInput":"x",`+
		`"toolResult":null,"more":1}}]}`)
}

func FuzzParley(f *testing.F) {
	fuzzRead(f, `{"session":{"id":"01976c1e-7a4b-7def-8123-456789abcde2","status":"running","statistics":{"cost":0.5},`+
		`"model":"a/b"},"agent":{"slug":"x"},"messages":[{"id":"01976c1e-7a4b-7def-8123-456789abcde3","sequence":1,`+
		`"role":"user","status":"completed","author":{"kind":"person","name":"Ada"},"content":{"text":"hi"},`+
		`"chain_version":2,"created_at":"2025-01-02T10:00:00Z","content_hash":"00"}],"turns":[1],"calls":[],`+
		`"provider_data":[{"message_id":"01976c1e-7a4b-7def-8123-456789abcde3","data":"AA=="}]}`)
}
