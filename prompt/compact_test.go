package prompt_test

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"example.org/parley"
	"example.org/parley/internal/bounded"
	"example.org/parley/prompt"
)

// settled returns the rows of a record that a tail would return, oldest first.
func (r *record) settled() []parley.Message {
	var rows []parley.Message
	for _, m := range r.rows {
		if !m.Internal && m.Status.Settled() {
			rows = append(rows, m)
		}
	}
	return rows
}

// However a conversation went and wherever a summary ends: no call is separated from its result, turns are whole where
// one fits, the newest stay, and internal, failed or set-aside messages are in no summary.
func TestASummaryCutsBetweenTurns(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r, _ := drawRecord(t, rapid.IntRange(1, 8).Draw(t, "turns"), []parley.ModelID{modelA, modelB})
		for i := range r.rows {
			r.rows[i].Marks.SetAside = rapid.IntRange(1, 10).Draw(t, "aside") == 1
		}
		rows := r.settled()
		newest := slices.Clone(rows)
		slices.Reverse(newest)
		unfinished := parley.Turn{}
		if rapid.Bool().Draw(t, "a turn runs") {
			unfinished.ID = newest[0].TurnID
		}
		keep := prompt.Keep{
			Turns:    rapid.IntRange(0, 2).Draw(t, "turns kept"),
			Messages: rapid.IntRange(0, 12).Draw(t, "messages kept"),
		}
		kept, _ := prompt.Kept(newest, unfinished, keep, true)
		rows = rows[:len(rows)-kept]
		most := rapid.SampledFrom([]int{200, 400, 1000, 100_000}).Draw(t, "most")
		var earlier *parley.Message
		if rapid.Bool().Draw(t, "an earlier summary") {
			through := int64(0)
			earlier = &parley.Message{
				Sequence:      int64(len(r.rows) + 1),
				Role:          parley.RoleSummary,
				Status:        parley.MessageCompleted,
				CoversThrough: &through,
				Content:       content(parley.TextContent{Text: "before"}),
			}
		}
		source, found := prompt.PlanCompaction(rows, earlier, false, 0, most, false)
		if !found {
			return
		}
		_, whole := prompt.PlanCompaction(rows, earlier, false, rows[len(rows)-1].Sequence, most, false)
		if source.Bytes > most {
			t.Fatalf("%d bytes are to be summarised; at most %d may", source.Bytes, most)
		}
		covered := func(m *parley.Message) bool { return m.Sequence <= source.Through }
		calls := map[string]*parley.Message{}
		for i := range r.rows {
			m := &r.rows[i]
			if before := i - 1; whole && before >= 0 && covered(&r.rows[before]) && !covered(m) && !m.TurnID.IsZero() &&
				m.TurnID == r.rows[before].TurnID {
				t.Fatalf("a turn is cut before message %d", m.Sequence)
			}
			if m.TurnID == unfinished.ID && !m.TurnID.IsZero() && covered(m) {
				t.Fatalf("message %d of the running turn is covered", m.Sequence)
			}
			switch m.Role {
			case parley.RoleToolCall:
				calls[m.ToolCallID] = m
			case parley.RoleToolResult:
				if call := calls[m.ToolCallID]; call != nil && covered(call) != covered(m) {
					t.Fatalf(
						"the call %d and its result %d are parted at %d",
						call.Sequence,
						m.Sequence,
						source.Through,
					)
				}
			}
		}
		for _, m := range source.Messages {
			if m.Internal || m.Status == parley.MessageFailed || m.Marks.SetAside {
				t.Fatalf("message %d is to be summarised: %+v", m.Sequence, m)
			}
		}
		if n := manifestBytes(t, source.Manifest); n > parley.MaxManifestBytes {
			t.Fatalf("a manifest of %d bytes", n)
		}
	})
}

// A summary that entered the record inside a turn divides it neither for the next summary nor for a window that is cut.
func TestASummaryInsideATurnDoesNotDivideIt(t *testing.T) {
	r, words := plain(1), strings.Repeat("word ", 40)
	through := int64(len(r.rows))
	for turn := 2; turn <= 8; turn++ {
		r.add(user(turnID(turn), words))
		if turn < 8 {
			covers := through
			r.add(parley.Message{
				Role:          parley.RoleSummary,
				CoversThrough: &covers,
				Content:       content(parley.TextContent{Text: "they talked"}),
			})
		}
		r.add(assistant(turnID(turn), 1, parley.AssistantContent{Text: words}))
	}
	asks := slices.IndexFunc(r.rows, func(m parley.Message) bool { return m.TurnID == turnID(7) })
	last := slices.IndexFunc(r.rows, func(m parley.Message) bool { return m.TurnID == turnID(8) })
	newest := slices.Clone(r.rows[:last]) // the turns 1 to 7
	slices.Reverse(newest)
	if kept, _ := prompt.Kept(newest, parley.Turn{}, prompt.Keep{Turns: 1}, true); kept != last-asks {
		t.Errorf("%d rows stay in full; want the %d of the newest turn", kept, last-asks)
	}
	for most := 100; most < 4000; most += 100 {
		source, found := prompt.PlanCompaction(r.rows, nil, false, 0, most, false)
		if next := source.Through; found && int(next) < len(r.rows) && r.rows[next].Role != parley.RoleUser {
			t.Errorf("with %d bytes the summary ends at message %d, inside a turn", most, next)
		}
	}
	for i := range newest {
		want := newest[i].Role != parley.RoleUser && (i == 0 || newest[i-1].Role == parley.RoleUser)
		if got := prompt.EndsTurn(newest, i); got != want {
			t.Errorf("message %d ends a turn: %t", newest[i].Sequence, got)
		}
	}
	for tokens := 100; tokens < 700; tokens += 10 {
		selection := mustView(t, prompt.View{
			Policy: parley.Policy{Kind: parley.PolicyAll}, Session: r.session(len(r.rows)),
			Budget: prompt.Budget{Tokens: tokens}, Tail: r.tail(len(r.rows)),
		})
		if m := selection.Messages; len(m) > 0 && m[0].Role != parley.RoleUser {
			t.Errorf("with %d tokens the window begins with message %d, inside a turn", tokens, m[0].Sequence)
		}
	}
}

// A request that shows only the size of a result does not show all that a summary of it stands for.
func TestAStubDoesNotShowItsResult(t *testing.T) {
	r := &record{}
	r.add(user(turnID(1), "go"))
	r.add(assistant(turnID(1), 1, parley.AssistantContent{}))
	r.add(call(turnID(1), 1, "a", `{}`))
	r.add(result(turnID(1), 1, "a", quote(long(400))))
	r.add(assistant(turnID(1), 2, parley.AssistantContent{Text: "done"}))
	source, found := prompt.PlanCompaction(r.rows, nil, false, 0, 100_000, false)
	if !found {
		t.Fatal("there is nothing to sum up")
	}
	manifest := parley.Manifest{Ranges: []parley.ManifestRange{{From: 1, To: int64(len(r.rows))}}}
	if !source.ShowsAll(manifest) {
		t.Error("the whole turn is not shown")
	}
	manifest.Turn = &parley.TurnCut{From: 2, Stubbed: 4}
	if source.ShowsAll(manifest) {
		t.Error("the stub counts as its result")
	}
}

// A recorded summarising request rebuilds to the same bytes, whatever marks have changed since.
func TestRebuildGivesTheSameSummarisingRequest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r, _ := drawRecord(t, rapid.IntRange(2, 8).Draw(t, "turns"), []parley.ModelID{modelA})
		rows := r.settled()
		through := rapid.Int64Range(0, int64(len(r.rows)/2)).Draw(t, "covered before")
		var earlier *parley.Message
		all := slices.Clone(r.rows)
		if through > 0 {
			all = append(
				all,
				parley.Message{
					ID:            turnID(999),
					Sequence:      int64(len(all) + 1),
					Role:          parley.RoleSummary,
					Status:        parley.MessageCompleted,
					CoversThrough: &through,
					Content:       content(parley.TextContent{Text: "before"}),
				},
			)
			earlier = &all[len(all)-1]
			rows = slices.DeleteFunc(rows, func(m parley.Message) bool { return m.Sequence <= through })
		}
		source, found := prompt.PlanCompaction(
			rows,
			earlier,
			false,
			0,
			rapid.SampledFrom([]int{300, 2000, 100_000}).Draw(t, "most"),
			false,
		)
		if !found {
			return
		}
		system := prompt.SummarySystem("the prices")
		sent, err := prompt.CompactionRequest(modelB, system, source, nil)
		if err != nil {
			t.Fatal(err)
		}
		for i := range all {
			all[i].Marks.SetAside = rapid.Bool().Draw(t, "marked later")
		}
		call := parley.Call{Model: modelB, Purpose: parley.PurposeCompaction, Manifest: source.Manifest}
		again, err := prompt.Rebuild(call, nil, system, nil, all, noFiles)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(sent, again, equateEmpty()); diff != "" {
			t.Fatalf("rebuilt request differs (-sent +rebuilt):\n%s", diff)
		}
	})
}

// A message too long for a summarising request is cut between runes (51), an interrupted answer says so, and a call
// that an outside agent may still answer is not covered.
func TestWhatIsSummedUp(t *testing.T) {
	r := &record{}
	r.add(user(turnID(1), strings.Repeat("é", 20_000)))
	cancelled := assistant(turnID(1), 1, parley.AssistantContent{Text: "half an answer"})
	cancelled.Status = parley.MessageCancelled
	r.add(cancelled)
	r.add(user(parley.ID{}, "recorded alone"))
	r.add(call(parley.ID{}, 0, "open", `{"q":1}`))
	r.add(user(turnID(2), "next"))
	source, found := prompt.PlanCompaction(r.rows, nil, false, 0, 40_000, false)
	if !found || source.Through != 2 {
		t.Fatalf("an open call is covered: %+v", source)
	}
	request, err := prompt.CompactionRequest(modelA, "", source, nil)
	if err != nil {
		t.Fatal(err)
	}
	parts := request.Messages[0].Parts
	if text := parts[0].Text; !utf8.ValidString(text) || len(text) > 17_000 ||
		!strings.HasPrefix(text, "[1] [User] éé") {
		t.Errorf("a long message is told in %d bytes as %.20q", len(text), text)
	}
	if text := parts[1].Text; text != "[2] [Assistant] half an answer "+prompt.Interrupted {
		t.Errorf("an interrupted answer is told as %q", text)
	}
	r.add(result(parley.ID{}, 0, "open", `"found"`))
	if source, _ := prompt.PlanCompaction(r.rows[:4], nil, true, 0, 40_000, false); source.Through != 2 {
		t.Errorf("a turn read in part is covered up to %d", source.Through)
	}
	narrow, found := prompt.PlanCompaction(r.rows[:2], nil, false, 0, 2_000, false)
	if !found || narrow.Bytes > 2_000 || narrow.Manifest.Policy != "compaction-2(1024)" {
		t.Errorf("with less room, %+v", narrow.Manifest)
	}
}

// A summary ends before a call whose result comes after the cut, and continues past a call that will get no result.
func TestOpenCallsAtASummarysCut(t *testing.T) {
	t.Parallel()
	given := func(m parley.Message, status parley.MessageStatus) parley.Message {
		m.Status = status
		return m
	}
	for name, c := range map[string]struct {
		rows    []parley.Message
		through int64 // 0: nothing can be covered
	}{
		"its result comes in the turn after": {[]parley.Message{
			user(turnID(1), "ask"), call(turnID(1), 1, "late", `{}`), user(turnID(2), "next"),
			result(turnID(1), 1, "late", `"found"`),
		}, 0},
		"its result comes in its turn": {[]parley.Message{
			user(turnID(1), "ask"), call(turnID(1), 1, "here", `{}`), result(turnID(1), 1, "here", `"found"`),
			user(turnID(2), "next"),
		}, 3},
		"its turn ended without a result": {[]parley.Message{
			user(turnID(1), "ask"), call(turnID(1), 1, "never", `{}`), user(turnID(2), "next"),
		}, 2},
		"an agent elsewhere may answer it": {[]parley.Message{
			user(turnID(1), "ask"), call(parley.ID{}, 0, "elsewhere", `{}`), user(turnID(2), "next"),
		}, 1},
		"an agent elsewhere gave it up": {[]parley.Message{
			user(turnID(1), "ask"), given(call(parley.ID{}, 0, "elsewhere", `{}`), parley.MessageCancelled),
			user(turnID(2), "next"),
		}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := &record{}
			for _, m := range c.rows {
				r.add(m)
			}
			source, found := prompt.PlanCompaction(r.rows, nil, true, 0, 40_000, false)
			if found != (c.through > 0) || source.Through != c.through {
				t.Errorf("found %t, covered up to %d; want %d", found, source.Through, c.through)
			}
		})
	}
}

// However many calls nobody answered and however many messages are set aside, a summary's plan takes its record's
// length in time: both are as a member likes. One that tried each end anew, or looked for each call in all rows, would
// take hours.
func TestPlansOfSummariesTakeTheirLengthInTime(t *testing.T) {
	t.Parallel()
	const most = 2 << 20
	aside, unanswered := make([]parley.Message, 40_000), make([]parley.Message, 40_000)
	for i := range aside {
		aside[i] = parley.Message{
			Sequence: int64(i + 1), Role: parley.RoleUser, Status: parley.MessageCompleted,
			Content: content(parley.UserContent{Text: "a"}), Marks: parley.Marks{SetAside: i%2 == 1},
		}
		if unanswered[i] = aside[i]; i%2 == 1 {
			call := parley.ToolCallContent{ID: strconv.Itoa(i), Name: "look", Arguments: json.RawMessage(`{}`)}
			unanswered[i].Role, unanswered[i].ToolCallID, unanswered[i].Content = parley.RoleToolCall, call.ID, content(
				call,
			)
		}
		unanswered[i].Marks = parley.Marks{}
	}
	planned := make(chan int64, 2)
	go func() { // ends with the plans
		for _, rows := range [][]parley.Message{aside, unanswered} {
			source, _ := prompt.PlanCompaction(rows, nil, false, 0, most, false)
			planned <- source.Through
		}
	}()
	through := bounded.Receive(t, planned, "a plan with many messages set aside")
	if next := aside[:through+2]; through == 0 || planOf(next[:through]) != through || planOf(next) != through {
		t.Errorf("the plan ends at %d, which is not the most that a manifest names", through)
	}
	if through := bounded.Receive(t, planned, "a plan with many calls unanswered"); through != 0 {
		t.Errorf("calls that may still be answered were covered up to %d", through)
	}
}

// planOf returns how far a summary of rows goes.
func planOf(rows []parley.Message) int64 {
	source, _ := prompt.PlanCompaction(rows, nil, false, 0, 2<<20, false)
	return source.Through
}
