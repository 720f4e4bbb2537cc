package worker

import (
	"strings"
	"testing"

	"example.org/parley"
	"example.org/parley/observe"
)

// shownBy returns what the calls so far showed.
func (d *diary) shownBy(r *rig, runs int) []observe.Context {
	r.Helper()
	d.read(r, runs)
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.shown
}

// TestRequestsAreComparedWithTheOneBefore: observers learn how much of a request began the one before it too; a changed
// prompt ends that, and nothing is known of a session's first.
func TestRequestsAreComparedWithTheOneBefore(t *testing.T) {
	r, book := newRig(t), newDiary()
	r.options.Observer = book
	r.start(nil)
	sessionID := r.session(parley.Settings{Policy: &parley.Policy{Kind: parley.PolicyAll}}, nil)
	long := strings.Repeat("word ", 400)
	ask := func(settings parley.Settings) {
		t.Helper()
		r.model.play(says("Well."))
		message := r.said(long, "")
		message.Settings = settings
		posted, err := r.postNew(sessionID, message)
		r.must(err)
		r.ended(posted.Turn.ID)
	}
	for range 3 {
		ask(parley.Settings{})
	}
	ask(parley.Settings{SystemPrompt: new("You are somebody else.")})
	shown := book.shownBy(r, 4)
	if len(shown) != 4 || shown[0].Agent != r.agent.Slug || shown[0].Bytes != 0 {
		t.Fatalf("the calls showed %+v", shown)
	}
	for i, least := range map[int]int64{1: 2000, 2: 4000} {
		if c := shown[i]; c.Repeated < least || c.Bytes-c.Repeated < 2000 || c.Bytes-c.Repeated > 2100 {
			t.Errorf("call %d showed %+v", i+1, c)
		}
	}
	if c := shown[3]; c.Bytes < 8000 || c.Repeated != 0 {
		t.Errorf("with another prompt a call showed %+v", c)
	}
}

// TestDroppedTokensAreObserved: what no longer fits is told once, by the call that leaves it out.
func TestDroppedTokensAreObserved(t *testing.T) {
	r, book := fullRig(t, 500), newDiary()
	r.options.Observer = book
	r.start(nil)
	sessionID := r.session(parley.Settings{
		Policy: &parley.Policy{Kind: parley.PolicyAll}, Parameters: parley.Parameters{MaxTokens: new(2000)},
	}, nil)
	const turns = 9
	for range turns {
		r.completes(sessionID, strings.Repeat("word ", 2000))
	}
	drops := 0
	for _, c := range book.shownBy(r, turns) {
		if c.Dropped > 0 {
			if drops++; c.Dropped < 2500 || c.Dropped > 20_000 {
				t.Errorf("a call dropped %d tokens", c.Dropped)
			}
		}
	}
	if told := len(r.toldOf(sessionID, parley.EventContextDropped)); drops == 0 || drops != told {
		t.Errorf("%d calls dropped something, %d events tell so", drops, told)
	}
}
