package prompt_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"example.org/parley"
	"example.org/parley/prompt"
)

// lookups is a session under auto whose turns call a tool, in a window of 10,000 tokens.
type lookups struct {
	*record
	view  prompt.View
	turns int
	now   parley.Time
}

func newLookups() *lookups {
	return &lookups{record: &record{}, now: 1_000_000, view: prompt.View{
		Policy: parley.Policy{Kind: parley.PolicyAuto},
		Bounds: parley.TextBounds{Text: 5000, Step: 10_000},
		Budget: prompt.Budget{Tokens: 10_000, Ratio: 1},
	}}
}

// ask begins a turn, after a pause, and returns what its first step sees.
func (l *lookups) ask(t *testing.T, pause time.Duration) prompt.Selection {
	t.Helper()
	l.turns++
	l.now += parley.Time(pause.Milliseconds())
	l.add(user(turnID(l.turns), fmt.Sprint("question ", l.turns))).TokenEstimate = 50
	return l.see(t)
}

func (l *lookups) see(t *testing.T) prompt.Selection {
	t.Helper()
	v := l.record.view(len(l.rows), l.view.Policy, 0, l.view.Budget)
	v.Bounds, v.Turn, v.Session.Context = l.view.Bounds, parley.Turn{ID: turnID(l.turns), StartedAt: l.now},
		l.view.Session.Context
	v.Session.Context.Held, v.CacheTTL = true, l.view.CacheTTL
	selection := mustView(t, v)
	now := &l.view.Session.Context
	now.Anchor, now.Dropped, now.Stubbed = selection.Anchor, selection.Dropped, selection.Stubbed
	return selection
}

// answer has the turn call its tool and end.
func (l *lookups) answer(result, answer int) {
	id, callID := turnID(l.turns), fmt.Sprint("c", l.turns)
	l.add(assistant(id, 1, parley.AssistantContent{})).CreatedAt = l.now
	l.add(call(id, 1, callID, fmt.Sprintf(`{"q":%d}`, l.turns))).TokenEstimate = 20
	l.add(found(id, callID, l.turns)).TokenEstimate = result
	last := l.add(assistant(id, 2, parley.AssistantContent{Text: fmt.Sprint("answer ", l.turns)}))
	last.CreatedAt, last.TokenEstimate = l.now, answer
}

func found(id parley.ID, callID string, n int) parley.Message {
	return result(id, 1, callID, quote(strings.Repeat(fmt.Sprint("found ", n, " "), 20)))
}

// stubs lists the turns whose results a selection shows as stubs.
func (l *lookups) stubs(t *testing.T, selection prompt.Selection) (turns []int) {
	t.Helper()
	_, manifest := mustBuild(t, prompt.Settings{Model: modelA}, selection)
	fateOf := prompt.FateOf(manifest, l.rows)
	for i := range l.rows {
		if fate, _ := fateOf(&l.rows[i]); fate == prompt.FateStubbed {
			turns = append(turns, int(l.rows[i].TurnID[1]))
		}
	}
	return turns
}

// At 80 % of the window the results of older turns become stubs, in one block, and those of the newest quarter stay
// whole. What is stubbed then stays the same until the window is full again: in between each request begins with the
// one before.
func TestOldResultsBecomeStubsInBlocks(t *testing.T) {
	t.Parallel()
	l := newLookups()
	before, moved := "", []int{}
	var blocks [][]int
	for l.turns < 30 {
		selection := l.ask(t, time.Second)
		if selection.Dropped > 0 {
			break
		}
		request, _, err := prompt.Build(prompt.Settings{Model: modelA}, selection, nil, reading(t), nil)
		if err != nil {
			t.Fatal(err)
		}
		got := texts(request)
		if !strings.HasPrefix(got, before) {
			moved = append(moved, l.turns)
			blocks = append(blocks, l.stubs(t, selection))
		}
		before = got
		same(t, l.record, selection)
		if due := prompt.CompactionDue(l.view.Policy, l.view.Budget, 0, int64(selection.Tokens)); due != "" {
			break // stubs are not enough any more
		}
		l.answer(900, 60)
	}
	t.Logf("the prefix breaks at turns %v, and a summary is due at turn %d", moved, l.turns)
	if len(moved) < 2 || moved[0] != 9 || l.turns < 16 {
		t.Errorf("the prefix breaks at turns %v, and a summary is due at turn %d", moved, l.turns)
	}
	if !slices.Equal(blocks[0], []int{1, 2, 3, 4, 5, 6}) {
		t.Errorf("first stubbed are the results of turns %v", blocks[0])
	}
	if !strings.Contains(before, `read_result with "id": 4 reads it.]`) {
		t.Errorf("the stubs and their calls read %q", parley.Clip(before, 400))
	}
}

// Where results are only a small part of the window, stubs would break the prefix for nothing: a summary is due
// instead. If none comes, what stubs can save comes before anything is dropped.
func TestStubsThatDoNotSufficeAreNotMade(t *testing.T) {
	t.Parallel()
	l := newLookups()
	due, stubbed := 0, 0
	for l.turns < 40 {
		selection := l.ask(t, time.Second)
		if due == 0 && prompt.CompactionDue(l.view.Policy, l.view.Budget, 0, int64(selection.Tokens)) != "" {
			due = l.turns
			if n := len(l.stubs(t, selection)); n > 0 {
				t.Errorf("%d results are stubs although a summary is due", n)
			}
		}
		if selection.Stubbed > 0 && stubbed == 0 {
			stubbed = l.turns
		}
		if selection.Dropped > 0 {
			break
		}
		l.answer(200, 650)
	}
	if due != 10 || stubbed <= due || stubbed >= l.turns {
		t.Errorf("a summary is due at turn %d, stubs are made at %d, messages dropped at %d", due, stubbed, l.turns)
	}
}

// From half of the window on, a pause that is longer than the provider's cache lives makes stubs: they cost no prefix.
// After a shorter one, or below half, nothing changes.
func TestStubsComeEarlyOnceTheCacheHasLapsed(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		turns   int
		ttl     parley.CacheTTL
		pause   time.Duration
		stubbed bool
	}{
		{"short pause", 6, "", 4 * time.Minute, false},
		{"long pause", 6, "", 6 * time.Minute, true},
		{"less than half", 4, "", 6 * time.Minute, false},
		{"kept for an hour", 6, parley.CacheHour, 6 * time.Minute, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			l := newLookups()
			l.view.CacheTTL = c.ttl
			for range c.turns {
				l.ask(t, time.Second)
				l.answer(800, 150)
			}
			selection := l.ask(t, c.pause)
			if got := len(l.stubs(t, selection)) > 0; got != c.stubbed || selection.Lapsed != c.stubbed {
				t.Errorf("with %d tokens stubs are made: %t; the cache has lapsed: %t",
					selection.Tokens, got, selection.Lapsed)
			}
		})
	}
}

// A pinned result stays whole among stubs, also if its pin is removed after the call; and with a model that reads more,
// all results are shown again.
func TestPinnedResultsAreNoStubs(t *testing.T) {
	t.Parallel()
	l := newLookups()
	for range 8 {
		l.ask(t, time.Second)
		l.answer(800, 150)
	}
	l.rows[2].Marks.Pinned = true // the first turn's call, and so its result
	selection := l.ask(t, time.Second)
	if got := l.stubs(t, selection); !slices.Equal(got, []int{2, 3, 4, 5, 6}) {
		t.Errorf("stubs are the results of turns %v", got)
	}
	if got := selection.Manifest.Stubs.Whole; !slices.Equal(got, []int64{4}) {
		t.Errorf("the manifest exempts %v", got)
	}
	same(t, l.record, selection) // removes all marks
	l.view.Budget.Tokens = 100_000
	if got := l.stubs(t, l.see(t)); len(got) > 0 {
		t.Errorf("for a model that reads ten times as much the results of turns %v are stubs", got)
	}
}

// The list of a request's parts says which results are stubs, and why.
func TestPartsNameStubs(t *testing.T) {
	t.Parallel()
	l := newLookups()
	for range 8 {
		l.ask(t, time.Second)
		l.answer(800, 150)
	}
	request, manifest := mustBuild(t, prompt.Settings{Model: modelA}, l.ask(t, time.Second))
	for _, p := range prompt.Parts(&request, nil, manifest, l.rows) {
		if p.Sequence == nil || l.rows[*p.Sequence-1].Role != parley.RoleToolResult {
			continue
		}
		stub := *p.Sequence <= manifest.Stubs.Through
		if stub != strings.HasSuffix(p.Reason, "only its size is shown because the conversation is long") {
			t.Errorf("message %d is there for %q", *p.Sequence, p.Reason)
		}
	}
}
