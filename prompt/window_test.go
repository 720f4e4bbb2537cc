package prompt_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"example.org/parley"
	"example.org/parley/prompt"
)

func equateEmpty() cmp.Option { return cmpopts.EquateEmpty() }

// plain returns a record of n turns: a question and an answer each.
func plain(n int) *record {
	r := &record{}
	for i := 1; i <= n; i++ {
		r.add(user(turnID(i), "question"))
		r.add(assistant(turnID(i), 1, parley.AssistantContent{Text: "answer"}))
	}
	return r
}

func TestWindow(t *testing.T) {
	t.Parallel()
	// Turns 1 to 10 are over (rows 1 to 20); turn 11 has just begun with row 21.
	base := func() *record { r := plain(10); r.add(user(turnID(11), "now")); return r }
	running := parley.Turn{ID: turnID(11)}
	aside := func(rows ...int) *record {
		r := base()
		for _, n := range rows {
			r.rows[n-1].Marks.SetAside = true
		}
		return r
	}
	failed := base()
	failed.rows[3].Status = parley.MessageFailed
	hidden := base()
	hidden.rows[4].Internal = true
	edge := base()
	edge.rows[14].Marks.ContextEdge = true

	for _, test := range []struct {
		name   string
		record *record
		policy parley.Policy
		turn   parley.Turn
		ranges []parley.ManifestRange
	}{
		{"all", base(), parley.Policy{Kind: parley.PolicyAll}, running, []parley.ManifestRange{
			{From: 1, To: 20, Reason: "all"}, {From: 21, To: 21, Reason: "running turn"}}},
		{"single", base(), parley.Policy{Kind: parley.PolicySingle}, running, []parley.ManifestRange{
			{From: 21, To: 21, Reason: "running turn"}}},
		{"no turn", base(), parley.Policy{Kind: parley.PolicyAll}, parley.Turn{},
			[]parley.ManifestRange{{From: 1, To: 21, Reason: "all"}}},
		// 21 are more than 6: the last 4 begin with number 18, which is in the turn of 17.
		{"recent", base(), parley.Policy{Kind: parley.PolicyRecent, Limit: 4}, running, []parley.ManifestRange{
			{From: 17, To: 20, Reason: "recent(4)"}, {From: 21, To: 21, Reason: "running turn"}}},
		// 21 are more than 9: the last 6 begin with number 16, which is in the turn of 15.
		{"recent rounds out", base(), parley.Policy{Kind: parley.PolicyRecent, Limit: 6}, running,
			[]parley.ManifestRange{
				{From: 15, To: 20, Reason: "recent(6)"}, {From: 21, To: 21, Reason: "running turn"}}},
		{"recent beyond the start", base(), parley.Policy{Kind: parley.PolicyRecent, Limit: 400}, running,
			[]parley.ManifestRange{
				{From: 1, To: 20, Reason: "recent(400)"}, {From: 21, To: 21, Reason: "running turn"}}},
		{"set aside", aside(2, 7), parley.Policy{Kind: parley.PolicyAll}, running, []parley.ManifestRange{
			{From: 1, To: 20, Except: []int64{2, 7}, Reason: "all; left out: set aside"},
			{From: 21, To: 21, Reason: "running turn"}}},
		{"a run set aside", aside(3, 4, 5, 6, 7, 8, 9, 10), parley.Policy{Kind: parley.PolicyAll}, running,
			[]parley.ManifestRange{
				{From: 1, To: 2, Reason: "all"}, {From: 11, To: 20, Reason: "all"},
				{From: 21, To: 21, Reason: "running turn"}}},
		{"failed", failed, parley.Policy{Kind: parley.PolicyAll}, running, []parley.ManifestRange{
			{From: 1, To: 20, Except: []int64{4}, Reason: "all; left out: failed"},
			{From: 21, To: 21, Reason: "running turn"}}},
		{"internal", hidden, parley.Policy{Kind: parley.PolicyAll}, running, []parley.ManifestRange{
			{From: 1, To: 20, Except: []int64{5}, Reason: "all; left out: internal"},
			{From: 21, To: 21, Reason: "running turn"}}},
		{"context edge", edge, parley.Policy{Kind: parley.PolicyAll}, running, []parley.ManifestRange{
			{From: 15, To: 20, Reason: "all"}, {From: 21, To: 21, Reason: "running turn"}}},
		{"empty", &record{}, parley.Policy{Kind: parley.PolicyRecent, Limit: 3}, running, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			n := len(test.record.rows)
			selection := mustWindow(t, test.policy, test.record.session(n), test.turn, test.record.tail(n))
			want := parley.Manifest{Policy: test.policy.String(), Ranges: test.ranges}
			if diff := cmp.Diff(want, selection.Manifest, equateEmpty()); diff != "" {
				t.Errorf("manifest (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(
				sequences(selection.Messages),
				named(selection.Manifest, n),
				equateEmpty(),
			); diff != "" {
				t.Errorf("(-shown +named):\n%s", diff)
			}
		})
	}
}

// A window never begins between a call and its result, even if the result has no turn, as in imports.
func TestWindowKeepsResultsWithTheirCalls(t *testing.T) {
	t.Parallel()
	r := &record{}
	r.add(user(turnID(1), "find"))
	r.add(call(turnID(1), 1, "a", `{}`))
	r.add(result(parley.ID{}, 0, "a", `1`))
	r.add(user(turnID(2), "now"))
	selection := mustWindow(
		t,
		parley.Policy{Kind: parley.PolicyRecent, Limit: 2},
		r.session(4),
		parley.Turn{ID: turnID(2)},
		r.tail(4),
	)
	if diff := cmp.Diff([]int64{1, 2, 3, 4}, sequences(selection.Messages)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Failure 53: what a narrow policy reads does not grow with the session.
func TestWindowReadsOnlyTheTail(t *testing.T) {
	t.Parallel()
	r := plain(50_000)
	r.add(user(turnID(50_001), "now"))
	turn := parley.Turn{ID: turnID(50_001)}
	for _, test := range []struct {
		policy parley.Policy
		most   int
	}{
		{parley.Policy{Kind: parley.PolicyRecent, Limit: 10}, 2*10 + 32},
		{parley.Policy{Kind: parley.PolicyRecent, Limit: 1000}, 2048},
		{parley.Policy{Kind: parley.PolicySingle}, 32},
	} {
		r.reads = 0
		mustWindow(t, test.policy, r.session(len(r.rows)), turn, r.tail(len(r.rows)))
		if r.reads > test.most {
			t.Errorf("%s read %d rows, want at most %d", test.policy, r.reads, test.most)
		}
	}
}

// A long running turn is whole under every policy, and read in pages.
func TestRunningTurnIsWhole(t *testing.T) {
	t.Parallel()
	r := plain(3)
	turn := turnID(4)
	r.add(user(turn, "go"))
	for step := 1; step <= 2*prompt.TailPage; step++ {
		r.add(assistant(turn, step, parley.AssistantContent{Text: "working"}))
	}
	n := len(r.rows)
	for _, policy := range []parley.Policy{{Kind: parley.PolicySingle}, {Kind: parley.PolicyRecent, Limit: 1},
		{Kind: parley.PolicyAll}} {
		selection := mustWindow(t, policy, r.session(n), parley.Turn{ID: turn}, r.tail(n))
		own := 0
		for _, m := range selection.Messages {
			if m.TurnID == turn {
				own++
			}
		}
		if want := 2*prompt.TailPage + 1; own != want {
			t.Errorf("%s shows %d rows of the running turn, want %d", policy, own, want)
		}
	}
}

func TestManifestStaysSmall(t *testing.T) {
	t.Parallel()
	running := parley.Turn{ID: turnID(3000)}
	t.Run("many failures go unnamed", func(t *testing.T) {
		t.Parallel()
		r := &record{}
		for i := 1; i < 3000; i++ {
			r.add(user(turnID(i), "question"))
			m := assistant(turnID(i), 1, parley.AssistantContent{Text: "half"})
			m.Status = parley.MessageFailed
			r.add(m)
		}
		r.add(user(running.ID, "now"))
		selection := mustWindow(
			t,
			parley.Policy{Kind: parley.PolicyAll},
			r.session(len(r.rows)),
			running,
			r.tail(len(r.rows)),
		)
		if n := manifestBytes(t, selection.Manifest); n > parley.MaxManifestBytes {
			t.Errorf("manifest of %d bytes", n)
		}
		if len(selection.Messages) != 3000 {
			t.Errorf("%d messages are shown, want all 3000 that did not fail", len(selection.Messages))
		}
		same(t, r, selection)
	})
	t.Run("too much set aside narrows the window", func(t *testing.T) {
		t.Parallel()
		r := plain(2999)
		for i := range r.rows {
			r.rows[i].Marks.SetAside = i%2 == 1
		}
		r.add(user(running.ID, "now"))
		selection := mustWindow(
			t,
			parley.Policy{Kind: parley.PolicyAll},
			r.session(len(r.rows)),
			running,
			r.tail(len(r.rows)),
		)
		if n := manifestBytes(t, selection.Manifest); n > parley.MaxManifestBytes || n < parley.MaxManifestBytes/2 {
			t.Errorf("manifest of %d bytes, want most of the room used", n)
		}
		if first := selection.Manifest.Ranges[0]; first.From == 1 || !strings.Contains(first.Reason, "set aside") {
			t.Errorf(
				"the first range %d to %d says %q; it must begin late and say why",
				first.From,
				first.To,
				first.Reason,
			)
		}
		same(t, r, selection)
	})
	t.Run("a running turn of nothing but gaps is whole", func(t *testing.T) {
		t.Parallel()
		r := plain(10)
		for i := range 4000 {
			m := assistant(running.ID, i, parley.AssistantContent{Text: "x"})
			m.Marks.SetAside = i%2 == 1
			r.add(m)
		}
		selection := mustWindow(
			t,
			parley.Policy{Kind: parley.PolicyAll},
			r.session(len(r.rows)),
			running,
			r.tail(len(r.rows)),
		)
		if n := len(selection.Messages); n != 4000 {
			t.Errorf("%d messages are shown, want the 4000 of the running turn", n)
		}
		if reason := selection.Manifest.Ranges[0].Reason; !strings.Contains(reason, "more is set aside than") {
			t.Errorf("the manifest says %q", reason)
		}
		same(t, r, selection)
	})
}

// same checks that a selection rebuilds from its manifest alone.
func same(t *testing.T, r *record, selection prompt.Selection) {
	t.Helper()
	sent, manifest := mustBuild(t, prompt.Settings{Model: modelA}, selection)
	for i := range r.rows {
		r.rows[i].Marks = parley.Marks{}
	}
	again, err := prompt.Rebuild(parley.Call{Model: modelA, Manifest: manifest}, nil, "", tools(), r.rows, noFiles)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(sent, again); diff != "" {
		t.Errorf("rebuilt request differs (-sent +rebuilt):\n%s", diff)
	}
}

func TestWindowErrors(t *testing.T) {
	t.Parallel()
	broken := errors.New("disk on fire")
	_, err := prompt.Window(prompt.View{Policy: parley.Policy{Kind: parley.PolicyAll},
		Tail: func(int64, int) ([]parley.Message, bool, error) { return nil, false, broken }})
	if !errors.Is(err, broken) {
		t.Errorf("the tail's error became %v", err)
	}
	_, err = prompt.Window(prompt.View{Policy: parley.Policy{Kind: "newest"}})
	if parley.ErrorCode(err) != parley.CodeInvalid {
		t.Errorf("an unknown policy gave %v", err)
	}
}
