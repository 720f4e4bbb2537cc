package acp

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"example.org/parley"
	"example.org/parley/internal/acpwire"
	"example.org/parley/internal/projectdir"
)

// atPrompt is a session whose program is at a prompt, and of which a test plays the program.
func atPrompt() *session {
	s := &session{
		runtime: &Runtime{},
		own:     "own",
		turnID:  parley.NewID(),
		conn:    acpwire.NewConn(func([]byte) error { return nil }),
		calls:   map[string]*call{},
		stands:  map[string]*call{},
		wake:    make(chan struct{}, 1),
	}
	s.closing.Do(func() {}) // there is no process to end
	return s
}

// tells has the program tell something.
func (s *session) tells(update string) {
	s.told(acpwire.MethodUpdate, json.RawMessage(`{"sessionId":"own","update":`+update+`}`))
}

// TestWhatCallsHoldIsBounded: whatever a program says of its calls, and however many there
// are, little of it is held until it is in the record.
func TestWhatCallsHoldIsBounded(t *testing.T) {
	t.Parallel()
	s := atPrompt()
	text := strings.Repeat("x", 2*maxResult)
	for i := range 40 {
		s.tells(fmt.Sprintf(
			`{"sessionUpdate":"tool_call","toolCallId":"c%d","status":"completed","rawInput":%q,"rawOutput":%q,`+
				`"locations":[%q],"content":[{"type":"content","content":{"type":"text","text":%q}}]}`,
			i, text, text[:maxResult], text[:maxInput], text,
		))
	}
	held := 0
	for _, c := range s.calls {
		held += c.holds()
	}
	if most := maxHeld + len(s.calls)*len(leftOut)*2; held > most || held != s.held || held < maxHeld/2 {
		t.Errorf("%d calls hold %d bytes, counted as %d; at most %d", len(s.calls), held, s.held, most)
	}
	for _, c := range s.calls { // all of them come into the record
		raw, err := s.resultOf(c)
		if err != nil || len(raw) > 2*maxResult {
			t.Fatalf("a result of %d bytes, %v", len(raw), err)
		}
	}
	if s.held != 0 {
		t.Errorf("%d bytes are still held", s.held)
	}
	many := "[" + strings.Repeat("{},", 1<<14) + "{}]"
	if got := listed[callContent](json.RawMessage(many), maxContents); len(got) != maxContents {
		t.Errorf("of a long list %d are read", len(got))
	}
}

// TestTextThatNobodyTakes: text that comes in small pieces while the turn waits is joined
// once, and none is kept beyond the bound.
func TestTextThatNobodyTakes(t *testing.T) { //nolint:paralleltest // counts the memory of the process
	s := atPrompt()
	const pieces, size = 4000, 256
	piece := fmt.Sprintf(
		`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":%q}}`, strings.Repeat("x", size),
	)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range pieces {
		s.tells(piece)
	}
	runtime.ReadMemStats(&after)
	// Joined anew with each piece it would be half the square of the pieces.
	if made := after.TotalAlloc - before.TotalAlloc; made > pieces*pieces*size/16 {
		t.Errorf("%d pieces made %d bytes", pieces, made)
	}
	next, _, err := s.take(t.Context())
	if err != nil || next.text.Len() != pieces*size || s.queued != 0 {
		t.Fatalf("%d bytes are taken, %d are left, %v", next.text.Len(), s.queued, err)
	}
	long := fmt.Sprintf(
		`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":%q}}`, strings.Repeat("x", 1<<20),
	)
	for range 3 * maxQueued >> 20 {
		s.tells(long)
	}
	if s.queued > maxQueued+1<<20 || s.conn.Why() == nil {
		t.Errorf("%d bytes are kept, and the connection is %v", s.queued, s.conn.Why())
	}
}

// TestAFileWithHoles: a file that is long and empty is not read without an end.
func TestAFileWithHoles(t *testing.T) {
	t.Parallel()
	project := t.TempDir()
	path := filepath.Join(project, "holes")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	if err := file.Truncate(2 * maxSkipped); err != nil {
		t.Fatal(err)
	}
	second := 2
	_, err = files{policy: projectdir.Anywhere(), project: project}.read(path, &second, nil)
	if parley.ErrorCode(err) != parley.CodeTooLarge {
		t.Errorf("its second line: %v", err)
	}
}
