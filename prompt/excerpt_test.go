package prompt_test

import (
	"errors"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"example.org/parley"
	"example.org/parley/model"
	"example.org/parley/prompt"
)

// long returns a text of about so many tokens: numbered lines.
func long(tokens int) string {
	return strings.Repeat("one two three four five six seven eight nine\n", tokens/10)
}

// reading are tools with read_result among them.
func reading(t testing.TB) prompt.Tools {
	t.Helper()
	tools, err := prompt.NewTools([]parley.ToolDefinition{{Name: parley.ReadResultTool}})
	if err != nil {
		t.Fatal(err)
	}
	return tools
}

// built makes the request for a window of a record, and the same again from its manifest.
func built(t interface {
	Helper()
	Fatal(args ...any)
}, r *record, view prompt.View, tools prompt.Tools) (model.Request, prompt.Selection) {
	t.Helper()
	view.Policy, view.Session, view.Tail = parley.Policy{
		Kind: parley.PolicyAll,
	}, r.session(
		len(r.rows),
	), r.tail(
		len(r.rows),
	)
	selection, err := prompt.Window(view)
	if err != nil {
		t.Fatal(err)
	}
	request, manifest, err := prompt.Build(prompt.Settings{Model: modelA}, selection, nil, tools, nil)
	if err != nil {
		t.Fatal(err)
	}
	definitions, err := prompt.DecodeTools(tools.Text())
	if err != nil {
		t.Fatal(err)
	}
	again, err := prompt.Rebuild(parley.Call{Model: modelA, Manifest: manifest}, nil, "", definitions, r.rows,
		func([]parley.Message) (prompt.Attachments, error) { return nil, nil })
	if err != nil {
		t.Fatal(err)
	}
	if texts(request) != texts(again) {
		t.Fatal("the request rebuilds to another one")
	}
	return request, selection
}

// texts are all texts of a request.
func texts(request model.Request) string {
	var out strings.Builder
	for _, m := range request.Messages {
		for _, p := range m.Parts {
			out.WriteString(p.Text + "\x00")
		}
	}
	return out.String()
}

// TestLongTextsAreShownInPart: a result or a posted text above its share of the window is shown by its beginning and
// its end, with its size and how to read it; others are shown whole.
func TestLongTextsAreShownInPart(t *testing.T) {
	t.Parallel()
	info := model.Info{ContextLength: 20_000}
	bounds := prompt.BoundsFor(info, parley.Parameters{}, 0, 1)
	if bounds.Text != 3584 || bounds.Step != 7168 { // 15,904 tokens, a quarter and half, three leading bits of them
		t.Fatalf("the bounds are %+v", bounds)
	}
	for _, c := range []struct {
		name  string
		rows  []parley.Message
		short []int64 // shown in part
	}{
		{"one result", []parley.Message{
			user(turnID(1), "go"), call(turnID(1), 1, "a", `{}`), result(turnID(1), 1, "a", quote(long(27_000))),
		}, []int64{3}},
		{"a result that fits", []parley.Message{
			user(turnID(1), "go"), call(turnID(1), 1, "a", `{}`), result(turnID(1), 1, "a", quote(long(3000))),
		}, nil},
		{"a posted text", []parley.Message{user(turnID(1), long(10_000))}, []int64{1}},
		{"the largest of a step", []parley.Message{
			user(turnID(1), "go"), call(turnID(1), 1, "a", `{}`), call(turnID(1), 1, "b", `{}`),
			call(turnID(1), 1, "c", `{}`), result(turnID(1), 1, "a", quote(long(2000))),
			result(turnID(1), 1, "b", quote(long(3300))), result(turnID(1), 1, "c", quote(long(2500))),
		}, []int64{6}},
		{"results of two steps", []parley.Message{
			user(turnID(1), "go"), call(turnID(1), 1, "a", `{}`), result(turnID(1), 1, "a", quote(long(3300))),
			call(turnID(1), 2, "b", `{}`), result(turnID(1), 2, "b", quote(long(3300))),
			call(turnID(1), 3, "c", `{}`), result(turnID(1), 3, "c", quote(long(3300))),
		}, nil},
	} {
		r := &record{}
		for _, m := range c.rows {
			r.add(m)
		}
		request, selection := built(t, r, prompt.View{Bounds: bounds, Turn: parley.Turn{ID: turnID(1)}}, reading(t))
		for _, m := range request.Messages {
			for _, p := range m.Parts {
				want := false
				for _, sequence := range c.short {
					want = want || sequence == p.Sequence
				}
				if got := strings.Contains(p.Text, "bytes are left out here. read_result with \"id\": "); got != want {
					t.Errorf("%s: message %d is shown in part: %t", c.name, p.Sequence, got)
				}
			}
		}
		if selection.Shortened != (c.short != nil) {
			t.Errorf("%s: shortened is %t", c.name, selection.Shortened)
		}
		// What the window counts is what the request has; stored estimates are of JSON.
		if sent := prompt.EstimateTokens(
			texts(request),
		); sent > selection.Tokens*11/10 ||
			selection.Tokens > sent*3/2+100 {
			t.Errorf("%s: the window counts %d tokens for about %d", c.name, selection.Tokens, sent)
		}
	}
}

// TestExcerptsWithoutReading: a model without read_result is not told of it.
func TestExcerptsWithoutReading(t *testing.T) {
	t.Parallel()
	r := &record{}
	r.add(user(turnID(1), long(10_000)))
	request, _ := built(t, r, prompt.View{Bounds: parley.TextBounds{Text: 2000, Step: 4000}}, prompt.Tools{})
	if text := texts(request); strings.Contains(text, "read_result") || !strings.Contains(text, "too much") {
		t.Errorf("the model reads %s", parley.Clip(text[len(text)/2:], 400))
	}
}

// TestStepsKeepTheirShare: however many results a step has and however long they are, they take no more than their
// share together as long as each gets a word, none is larger than its own share, and the request rebuilds.
func TestStepsKeepTheirShare(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		context := rapid.IntRange(4000, 40_000).Draw(t, "context")
		bounds := prompt.BoundsFor(model.Info{ContextLength: context}, parley.Parameters{}, 500,
			rapid.Float64Range(0.5, 4).Draw(t, "ratio"))
		if bounds.Text > prompt.LongestText || bounds.Step < bounds.Text {
			t.Fatalf("the bounds are %+v", bounds)
		}
		r := &record{}
		r.add(user(turnID(1), "go"))
		n := rapid.IntRange(1, 8).Draw(t, "calls")
		for i := range n {
			r.add(call(turnID(1), 1, string(rune('a'+i)), `{}`))
		}
		for i := range n {
			r.add(result(turnID(1), 1, string(rune('a'+i)), quote(long(rapid.IntRange(1, 12_000).Draw(t, "size")))))
		}
		request, selection := built(t, r, prompt.View{Bounds: bounds, Turn: parley.Turn{ID: turnID(1)}}, prompt.Tools{})
		// The bounds are in stored estimates, of contents as JSON: that of the text alone may be a few percent larger.
		loosely := func(tokens int) int { return tokens + tokens/20 }
		sum := 0
		for _, p := range request.Messages[len(request.Messages)-1].Parts {
			tokens := prompt.EstimateTokens(p.Text)
			if sum += tokens; tokens > loosely(bounds.Text)+64 {
				t.Fatalf("a result takes %d tokens of %d", tokens, bounds.Text)
			}
		}
		if slack := 64 * n; sum > loosely(bounds.Step)+slack {
			t.Fatalf("the results take %d tokens of %d", sum, bounds.Step)
		}
		if selection.Tokens > bounds.Step+80*n+200 {
			t.Fatalf("the window counts %d tokens of %d", selection.Tokens, bounds.Step)
		}
	})
}

// TestBoundsStayTheSame: small changes of what a model is found to count do not move the bounds, which would change
// requests from their first long text on.
func TestBoundsStayTheSame(t *testing.T) {
	t.Parallel()
	info := model.Info{ContextLength: 128_000, MaxOutput: 16_000}
	want := prompt.BoundsFor(info, parley.Parameters{}, 3000, 1)
	for _, ratio := range []float64{0.8, 0.97, 1.1, 1.4} {
		if got := prompt.BoundsFor(info, parley.Parameters{}, 3010, ratio); got != want {
			t.Errorf("at %v the bounds are %+v; they were %+v", ratio, got, want)
		}
	}
}

func quote(text string) string { return string(parley.AppendJSONString(nil, text)) }

// TestLongTurnsKeepTheirWindow: a turn whose results fill the window many times over is shown with its first message,
// its newest step and nothing above the window's tokens; its requests rebuild, and nearly all of them begin with the
// earlier one.
func TestLongTurnsKeepTheirWindow(t *testing.T) {
	t.Parallel()
	r := &record{}
	r.add(user(turnID(1), "earlier"))
	r.add(assistant(turnID(1), 1, parley.AssistantContent{Text: "done"}))
	trigger := r.add(user(turnID(2), "the task"))
	trigger.ID = turnID(99)
	view := prompt.View{
		Bounds: prompt.BoundsFor(model.Info{ContextLength: 20_000}, parley.Parameters{}, 0, 1),
		Budget: prompt.Budget{Tokens: 8000, Most: 9000, Ratio: 1},
		Turn:   parley.Turn{ID: turnID(2), TriggerMessageID: turnID(99)},
	}
	before, jumps, stubbed, dropped := "", 0, false, false
	for step := 1; step <= 120; step++ {
		id := string(rune('a'+step%26)) + strings.Repeat("x", step/26)
		r.add(assistant(turnID(2), step, parley.AssistantContent{}))
		r.add(call(turnID(2), step, id, `{"q":"`+strings.Repeat("word ", 12)+`"}`))
		r.add(result(turnID(2), step, id, quote(long(400))))
		if step == 60 {
			steer := user(turnID(2), "a wish in between")
			steer.Steer = true
			r.add(steer)
		}
		request, selection := built(t, r, view, reading(t))
		view.Cut = selection.Cut
		got := texts(request)
		if selection.Excess > 0 || selection.Tokens > view.Budget.Tokens {
			t.Fatalf("step %d: %d tokens, %d too many", step, selection.Tokens, selection.Excess)
		}
		if !strings.Contains(got, "the task") || step != 60 && !strings.HasSuffix(got, long(400)+"\x00") ||
			step >= 60 && !strings.Contains(got, "a wish in between") {
			t.Fatalf("step %d: the task, the newest result or a wish is missing", step)
		}
		if !strings.HasPrefix(got, before) {
			jumps++
		}
		before = got
		stubbed = stubbed || strings.Contains(got, "is left out; read_result with \"id\": ")
		dropped = dropped || strings.Contains(got, "Older steps of this turn, messages 4 to ")
	}
	if !stubbed || !dropped || jumps > 40 {
		t.Errorf("stubs %t, steps left out %t, %d jumps", stubbed, dropped, jumps)
	}
}

// TestAWishAmidDroppedStepsBringsNoneBack: the summary of a turn's first steps is undone while later ones are left out
// and the newest fills the window. The first ones are left out too, so that what a person said is all that stands before
// the newest; none of the later ones comes back for it.
func TestAWishAmidDroppedStepsBringsNoneBack(t *testing.T) {
	t.Parallel()
	r, turn := &record{}, turnID(1)
	trigger := r.add(user(turn, "the task"))
	trigger.ID = turnID(99)
	step := func(n, tokens int) {
		id := strconv.Itoa(n)
		r.add(assistant(turn, n, parley.AssistantContent{}))
		r.add(call(turn, n, id, `{}`))
		r.add(result(turn, n, id, `"answer `+id+`"`)).TokenEstimate = tokens
	}
	step(1, 1000) // 2 to 4
	r.add(user(turn, "a wish in between")).Steer = true
	step(2, 1000) // 6 to 8
	step(3, 7000)
	before := parley.TurnCut{From: 6, Stubbed: 8, Dropped: 8} // a summary covered 1 to 5
	view := prompt.View{
		Bounds: parley.TextBounds{Text: 100_000, Step: 200_000},
		Budget: prompt.Budget{Tokens: 8000, Most: 9000, Ratio: 1},
		Turn:   parley.Turn{ID: turn, TriggerMessageID: turnID(99)},
		Cut:    before,
	}
	request, selection := built(t, r, view, reading(t))
	if want := (parley.TurnCut{From: 2, Stubbed: 8, Dropped: 8}); selection.Cut != want {
		t.Errorf("the cut became %+v; want %+v", selection.Cut, want)
	}
	got := texts(request)
	if !strings.Contains(got, "a wish in between") || !strings.Contains(got, "answer 3") ||
		strings.Contains(got, "answer 1") || strings.Contains(got, "answer 2") {
		t.Errorf("the request shows %q", got)
	}
}

// However long the run of steps is that a turn leaves out, the window reads past it: also when the reads end exactly at
// its first message.
func TestWindowReadsPastDroppedSteps(t *testing.T) {
	r, turn := &record{}, turnID(1)
	r.add(user(turn, "go"))
	const dropped, kept = 96, 32 // steps of three messages
	for step := 1; step <= dropped+kept; step++ {
		id := strconv.Itoa(step)
		r.add(assistant(turn, step, parley.AssistantContent{Text: "next"}))
		r.add(call(turn, step, id, `{}`))
		r.add(result(turn, step, id, `"done"`))
	}
	n, reads := len(r.rows), 0
	tail := r.tail(n)
	selection := mustView(t, prompt.View{
		Policy: parley.Policy{Kind: parley.PolicyAuto}, Session: r.session(n), Turn: parley.Turn{ID: turn},
		Budget: prompt.Budget{Tokens: 100_000}, Bounds: parley.TextBounds{Text: 1000, Step: 2000},
		Cut:  parley.TurnCut{From: 2, Dropped: 1 + 3*dropped},
		Head: r.head(n),
		Tail: func(before int64, limit int) ([]parley.Message, bool, error) {
			if reads++; reads > 100 {
				return nil, false, errors.New("the same messages are read again and again")
			}
			return tail(before, limit)
		},
	})
	if got := len(selection.Messages); got != 1+3*kept {
		t.Errorf("the window has %d messages; want the first and %d steps", got, kept)
	}
}

// A request that leaves out steps rebuilds to the same bytes, also if its manifest has no room to name what else is
// left out.
func TestDroppedStepsRebuildFromAShortManifest(t *testing.T) {
	r := &record{}
	for i := range 1000 {
		r.add(user(turnID(i+1), "question"))
		m := assistant(turnID(i+1), 1, parley.AssistantContent{Text: "half"})
		m.Status = parley.MessageFailed
		r.add(m)
	}
	trigger := r.add(user(turnID(2000), "the task"))
	trigger.ID = turnID(2001)
	from := int64(len(r.rows) + 1)
	for step := 1; step <= 40; step++ {
		id := strconv.Itoa(step)
		r.add(assistant(turnID(2000), step, parley.AssistantContent{Text: "next"}))
		r.add(call(turnID(2000), step, id, `{}`))
		r.add(result(turnID(2000), step, id, `"done"`))
	}
	_, selection := built(t, r, prompt.View{
		Turn:   parley.Turn{ID: turnID(2000), TriggerMessageID: trigger.ID},
		Bounds: parley.TextBounds{Text: 1000, Step: 2000},
		Cut:    parley.TurnCut{From: from, Dropped: from + 59},
	}, reading(t))
	if got := len(selection.Messages); got != 1000+1+60 {
		t.Errorf("%d messages are shown", got)
	}
}
