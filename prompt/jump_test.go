package prompt_test

import (
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"example.org/parley"
	"example.org/parley/model"
	"example.org/parley/prompt"
)

// drawMarks pins rows, sets some aside, and writes summaries of earlier rows.
func drawMarks(t *rapid.T, r *record) {
	for i := range r.rows {
		m := &r.rows[i]
		m.Marks.Pinned = rapid.IntRange(1, 8).Draw(t, "pinned") == 1
		m.Marks.SetAside = rapid.IntRange(1, 15).Draw(t, "aside") == 1
		if i > 4 && m.Role == parley.RoleSummary && rapid.Bool().Draw(t, "covers") {
			covers := int64(rapid.IntRange(1, i-1).Draw(t, "through"))
			for covers < int64(i) && r.rows[covers].TurnID == r.rows[covers-1].TurnID { // to the end of a turn
				covers++
			}
			m.CoversThrough = &covers
		}
	}
}

// view returns what a call before row at sees.
func (r *record) view(at int, policy parley.Policy, anchor int64, budget prompt.Budget) prompt.View {
	session := r.session(at)
	session.Context = parley.Context{Anchor: anchor, Held: true}
	if policy.Kind != parley.PolicyRecent {
		session.Context.Dropped = min(anchor, 1)
	}
	return prompt.View{
		Policy:  policy,
		Session: session,
		Turn:    parley.Turn{ID: r.rows[at-1].TurnID},
		Budget:  budget,
		Tail:    r.tail(at),
		Head:    r.head(at),
	}
}

func mustView(t rapid.TB, v prompt.View) prompt.Selection {
	t.Helper()
	selection, err := prompt.Window(v)
	if err != nil {
		t.Fatal(err)
	}
	return selection
}

// A window keeps its start until it has grown to one and a half times its target, then jumps forward; it never holds
// less than requested, and never begins inside a turn.
func TestWindowsMoveInJumps(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r, begins := drawRecord(t, rapid.IntRange(1, 14).Draw(t, "turns"), []parley.ModelID{modelA})
		n := rapid.IntRange(1, 9).Draw(t, "n")
		policy := parley.Policy{Kind: parley.PolicyRecent, Limit: n}
		var anchor int64
		var start int
		for _, at := range begins {
			selection := mustView(t, r.view(at, policy, anchor, prompt.Budget{}))
			rows := facing(r.rows[:at])
			from := slices.IndexFunc(
				rows,
				func(m parley.Message) bool { return m.Sequence >= selection.Manifest.Ranges[0].From },
			)
			own := len(
				rows,
			) - slices.IndexFunc(
				rows,
				func(m parley.Message) bool { return m.TurnID == r.rows[at-1].TurnID },
			)
			held := len(rows) - from - own + 1
			if from < start {
				t.Fatalf("the window moved back from row %d to %d", start, from)
			}
			if held < min(n, len(rows)-own+1) {
				t.Fatalf("the window at %d holds %d messages of the %d requested", at, held, n)
			}
			if from > start && len(rows)-start-own+1 <= n+n/2 {
				t.Fatalf(
					"the window at %d moved from row %d to %d when it held only %d of %d",
					at,
					start,
					from,
					len(rows)-start-own+1,
					n+n/2,
				)
			}
			if from > 0 && rows[from].TurnID == rows[from-1].TurnID && !rows[from].TurnID.IsZero() {
				t.Fatalf("the window at %d begins inside a turn, at row %d", at, from)
			}
			anchor, start = selection.Anchor, from
		}
	})
}

// facing returns the rows that are not internal.
func facing(rows []parley.Message) []parley.Message {
	return slices.DeleteFunc(slices.Clone(rows), func(m parley.Message) bool { return m.Internal })
}

// Under any policy and budget, with pins and summaries: turns are whole, pinned messages are shown, an excess is
// reported, and the call rebuilds.
func TestWindowsKeepWhatTheyMust(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r, begins := drawRecord(t, rapid.IntRange(1, 7).Draw(t, "turns"), []parley.ModelID{modelA, modelB})
		drawMarks(t, r)
		budget := prompt.Budget{
			Tokens: rapid.SampledFrom([]int{0, 60, 200, 1000}).Draw(t, "budget"),
			Ratio:  rapid.SampledFrom([]float64{0, 1, 1.4}).Draw(t, "ratio"),
		}
		policy := drawPolicy(t)
		var anchor int64
		for _, at := range begins {
			v := r.view(at, policy, anchor, budget)
			selection := mustView(t, v)
			anchor = selection.Anchor
			shown := map[int64]bool{}
			for i := range selection.Messages {
				if shown[selection.Messages[i].Sequence] {
					t.Fatalf("row %d is shown twice", selection.Messages[i].Sequence)
				}
				shown[selection.Messages[i].Sequence] = true
			}
			head, _ := r.head(at)()
			checkCarried(t, r, at, head, policy, shown)
			if n := manifestBytes(t, selection.Manifest); n > parley.MaxManifestBytes {
				t.Fatalf("manifest of %d bytes", n)
			}
			if budget.Tokens > 0 && float64(selection.Tokens)*max(budget.Ratio, 1) > float64(budget.Tokens)+2 &&
				selection.Excess == 0 {
				t.Fatalf(
					"%d tokens are more than the budget %+v, and the selection does not say so",
					selection.Tokens,
					budget,
				)
			}
			sameRequest(t, r.rows, selection)
		}
	})
}

// checkCarried requires the running turn, the pins and the active summary.
func checkCarried(t *rapid.T, r *record, at int, head parley.ContextHead, policy parley.Policy, shown map[int64]bool) {
	var covered int64
	if policy.Summarises() && head.Summary != nil {
		covered = *head.Summary.CoversThrough
		if !shown[head.Summary.Sequence] {
			t.Fatalf("the summary %d or the first task is not shown: %v", head.Summary.Sequence, shown)
		}
	}
	if first := head.First; first != nil && policy.Kind != parley.PolicySingle && !shown[first.Sequence] {
		t.Fatalf("the first task %d is not shown: %v", first.Sequence, shown)
	}
	for i, m := range r.rows[:at] {
		visible := !m.Internal && !m.Marks.SetAside &&
			(m.Status == parley.MessageCompleted || m.Status == parley.MessageCancelled)
		switch {
		case !visible && shown[m.Sequence]:
			t.Fatalf("row %d (%s) is shown", i, m.Status)
		case visible && m.Marks.Pinned && m.CoversThrough == nil && !shown[m.Sequence]:
			t.Fatalf("the pinned row %d is not shown", i)
		case visible && m.TurnID == r.rows[at-1].TurnID && m.Sequence > covered && !shown[m.Sequence]:
			t.Fatalf("row %d of the running turn is not shown", i)
		case m.CoversThrough != nil && shown[m.Sequence] &&
			(!policy.Summarises() || head.Summary == nil || m.Sequence != head.Summary.Sequence):
			t.Fatalf("the summary %d is shown beside the active one", m.Sequence)
		}
	}
}

// sameRequest checks that a selection rebuilds, whatever is marked by then.
func sameRequest(t *rapid.T, rows []parley.Message, selection prompt.Selection) {
	t.Helper()
	sent, manifest := mustBuild(t, prompt.Settings{Model: modelA}, selection)
	sameAgain(t, rows, sent, manifest, tools())
}

// sameAgain requires that a request can be made again from its manifest, whatever the marks are by then.
func sameAgain(
	t *rapid.T,
	rows []parley.Message,
	sent model.Request,
	manifest parley.Manifest,
	tools []parley.ToolDefinition,
) {
	t.Helper()
	later := slices.Clone(rows)
	for i := range later {
		later[i].Marks = parley.Marks{}
	}
	var within []parley.Message
	for _, span := range prompt.Spans(manifest) {
		within = append(within, later[span[0]-1:span[1]]...)
	}
	again, err := prompt.Rebuild(parley.Call{Model: modelA, Manifest: manifest}, nil, "", tools, within, noFiles)
	if err != nil {
		t.Fatal(err)
	}
	if reflect.DeepEqual(sent, again) { // much faster
		return
	}
	if diff := requestDiff(sent, again); diff != "" {
		t.Fatalf("rebuilt request differs (-sent +rebuilt):\n%s", diff)
	}
}
