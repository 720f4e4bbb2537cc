package prompt_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"example.org/parley"
	"example.org/parley/llm"
	"example.org/parley/model"
	"example.org/parley/prompt"
)

// The lines of a window never overtake each other: over all models of the registry, unknown ones, and any settings.
func TestLinesStayInOrder(t *testing.T) {
	registry, err := llm.NewRegistry(llm.Options{})
	if err != nil {
		t.Fatal(err)
	}
	models := append(registry.Models(), model.Info{}, model.Info{MaxOutput: 64_000})
	rapid.Check(t, func(t *rapid.T) {
		info := rapid.SampledFrom(models).Draw(t, "model")
		if rapid.Bool().Draw(t, "another length") {
			info.ContextLength = rapid.IntRange(0, 2_000_000).Draw(t, "length")
		}
		var parameters parley.Parameters
		if rapid.Bool().Draw(t, "bounded") {
			parameters.MaxTokens = new(rapid.IntRange(1, 200_000).Draw(t, "max_tokens"))
		}
		policy := drawPolicy(t)
		if policy.Kind == parley.PolicySummary && policy.Limit == 0 {
			policy.Tokens = rapid.IntRange(parley.MinPolicyTokens, parley.MaxPolicyTokens).Draw(t, "tokens")
		}
		ratio := rapid.Float64Range(0.25, 4).Draw(t, "ratio")
		b := prompt.NewBudget(info, parameters, policy, rapid.IntRange(0, 100_000).Draw(t, "fixed"), ratio)
		lines := []int{1, b.Keep(), b.Rest(), b.Half(), b.Due(), b.Wait(), b.Tokens, b.Most}
		if !slices.IsSorted(lines) || b.Keep() > b.Due()*25/80+1 {
			t.Fatalf("keep, rest, half, due, wait, tokens, most are %v of %+v", lines[1:], b)
		}
		if lines := []int{1, b.Cut(), b.Wait(), b.Tokens}; !slices.IsSorted(lines) {
			t.Fatalf("cut, wait, tokens are %v of %+v", lines[1:], b)
		}
		if !policy.Summarises() && b.Cut() > b.Due() && b.Due() > 1 {
			t.Fatalf("a window that was cut has %d tokens, and from %d on a summary is due", b.Cut(), b.Due())
		}
		if due := prompt.CompactionDue(policy, b, 0, int64(b.Wait())); policy.Summarises() &&
			due != parley.CompactTokens {
			t.Fatalf("at %d tokens, where a request waits for a summary, it is due for %q", b.Wait(), due)
		}
	})
}

// conversation is a session over its whole life, with the state that the store keeps of its window.
type conversation struct {
	*record
	t      *rapid.T
	policy parley.Policy
	budget prompt.Budget
	calls  int

	anchor, dropped int64
	running         parley.Turn
	stubbed         int64          // of older turns
	now             parley.Time    // by the database's clock
	cut             parley.TurnCut // of the running turn
	through         int64          // what the summary that is being written covers; 0: none is
	due             int            // turns until it is there
}

// turn adds a turn, and checks the request of each step.
func (c *conversation) turn(n int) {
	id := turnID(n)
	size := func(label string) int { return rapid.SampledFrom([]int{5, 60, 400, 3000}).Draw(c.t, label) }
	if rapid.IntRange(1, 12).Draw(c.t, "hidden") == 1 {
		hidden := content(parley.UserContent{Text: "hidden"})
		c.add(parley.Message{Role: parley.RoleUser, Internal: true, Content: hidden})
	}
	c.now += parley.Time(rapid.SampledFrom([]int{1000, 600_000}).Draw(c.t, "pause"))
	trigger := c.add(user(id, "question "+fmt.Sprint(n)))
	trigger.ID, trigger.TokenEstimate = id, size("question")
	c.cut, c.running = parley.TurnCut{}, parley.Turn{ID: id, TriggerMessageID: id, StartedAt: c.now}
	for step := range rapid.SampledFrom([]int{1, 1, 2, 2, 3, 4, 12}).Draw(c.t, "steps") {
		if c.through > 0 && rapid.IntRange(1, 6).Draw(c.t, "at a border") == 1 {
			c.enter()
		}
		if step > 0 {
			id = c.border(id, n)
		}
		c.request()
		if rapid.IntRange(1, 10).Draw(c.t, "failed") == 1 {
			m := c.add(assistant(id, step, parley.AssistantContent{Text: "broken"}))
			m.Status = parley.MessageFailed
		}
		m := c.add(assistant(id, step, parley.AssistantContent{Text: "answer"}))
		m.TokenEstimate, m.CreatedAt = size("answer"), c.now
		if rapid.Bool().Draw(c.t, "calls") {
			c.calls++
			c.add(call(id, step, fmt.Sprint(c.calls), `{"q":1}`))
			c.add(result(id, step, fmt.Sprint(c.calls), `"found"`)).TokenEstimate = size("result")
		}
	}
}

// border changes what may change between two steps, and returns the turn that goes on.
func (c *conversation) border(id parley.ID, n int) parley.ID {
	switch rapid.IntRange(1, 20).Draw(c.t, "border") {
	case 1:
		c.add(user(id, "steered"))
	case 2:
		c.undo()
	case 3: // it fails, and another turn continues it
		next := turnID(1000*n + len(c.rows))
		c.running = parley.Turn{ID: next, ContinuesID: id, TriggerMessageID: c.running.TriggerMessageID}
		c.cut = parley.TurnCut{}
		return next
	}
	return id
}

// undo sets summaries aside, or brings them back.
func (c *conversation) undo() {
	for i := range c.rows {
		if c.rows[i].CoversThrough != nil {
			c.rows[i].Marks.SetAside = rapid.Bool().Draw(c.t, "undone")
		}
	}
}

// between changes what may change between two turns.
func (c *conversation) between() {
	switch rapid.IntRange(1, 12).Draw(c.t, "between") {
	case 1:
		c.budget.Tokens = rapid.SampledFrom([]int{500, 2000, 9000, 60_000}).Draw(c.t, "another model")
	case 2:
		m := &c.rows[rapid.IntRange(0, len(c.rows)-1).Draw(c.t, "marked")]
		m.Marks.SetAside = !m.Marks.SetAside
	case 3:
		c.rows[rapid.IntRange(0, len(c.rows)-1).Draw(c.t, "pinned")].Marks.Pinned = true
	case 4:
		if m := &c.rows[len(c.rows)-1]; m.Role != parley.RoleToolResult && m.CoversThrough == nil {
			m.Marks.ContextEdge = rapid.Bool().Draw(c.t, "edge")
		}
	case 5:
		c.policy = drawPolicy(c.t)
		if !c.policy.Summarises() {
			c.budget.Ceiling = 0
		}
	case 6:
		c.undo()
	}
	c.compact()
}

// compact begins a summary, or has one fail or enter the record some turns later.
func (c *conversation) compact() {
	if c.through == 0 {
		if !rapid.Bool().Draw(c.t, "begins") {
			return
		}
		c.through = int64(rapid.IntRange(1, len(c.rows)).Draw(c.t, "covers"))
		for int(c.through) < len(c.rows) && c.rows[c.through].TurnID == c.rows[c.through-1].TurnID {
			c.through++
		}
		c.due = rapid.IntRange(0, 5).Draw(c.t, "slow")
	}
	if c.due--; c.due > 0 {
		return
	}
	if rapid.IntRange(1, 3).Draw(c.t, "fails") > 1 {
		c.enter()
	}
	c.through = 0
}

// enter puts the summary into the record.
func (c *conversation) enter() {
	covers := c.through
	m := c.add(parley.Message{Role: parley.RoleSummary, Content: content(parley.TextContent{Text: "they talked"})})
	m.CoversThrough, c.through = &covers, 0
	c.anchor, c.dropped = 0, 0 // as the store does
}

// request makes the request of the running turn's next step, as a worker does: before it drops older steps of the turn,
// a summary of them is asked for, which comes in time, late, or never.
func (c *conversation) request() {
	for vain := false; ; {
		v := c.view(len(c.rows), c.policy, c.anchor, c.budget)
		v.Session.Context.Dropped, v.Session.Context.Stubbed = c.dropped, c.stubbed
		v.Turn, v.Said, v.NoSummary = c.running, c.said, vain
		v.Cut, v.Bounds = c.cut, parley.TextBounds{Text: 5000, Step: 10_000} // none of these texts is longer
		selection := mustView(c.t, v)
		drops := c.policy.Summarises() && selection.Excess == 0 && selection.Cut.Dropped > c.cut.Dropped
		switch {
		case !drops || vain:
			c.check(selection)
			return
		case !c.summarised():
			vain = true
		}
	}
}

// said reads what people said in the running turn up to a sequence.
func (c *conversation) said(through int64) (said []parley.Message, _ error) {
	for i := range c.rows[:through] {
		m := &c.rows[i]
		if m.ID == c.running.TriggerMessageID || len(said) > 0 && m.Role == parley.RoleUser && !m.Internal {
			said = append(said, *m)
		}
	}
	return said, nil
}

// summarised asks for a summary of the record's steps and reports whether it is in the record.
func (c *conversation) summarised() bool {
	outcome := rapid.SampledFrom([]string{"in time", "late", "never"}).Draw(c.t, "the steps' summary")
	if outcome == "never" || c.through > 0 {
		return false
	}
	head, _ := c.head(len(c.rows))()
	var covered int64
	if head.Summary != nil {
		covered = *head.Summary.CoversThrough
	}
	var newest []parley.Message
	for i := len(c.rows) - 1; int64(i) >= covered && i+1 >= int(head.Edge); i-- {
		if m := c.rows[i]; !m.Internal {
			newest = append(newest, m)
		}
	}
	kept, _ := prompt.Kept(newest, c.running, prompt.Keeps(c.policy, parley.CompactSteps, c.budget), true)
	rows := newest[kept:]
	slices.Reverse(rows)
	if len(rows) == 0 {
		return false
	}
	most := rapid.SampledFrom([]int{300, 100_000}).Draw(c.t, "most")
	source, found := prompt.PlanCompaction(rows, head.Summary, false, 0, most, true)
	if !found {
		return false
	}
	c.through, c.due = source.Through, 1
	if outcome == "late" {
		return false
	}
	c.enter()
	return true
}

// check accounts for every sequence of the record in a request.
func (c *conversation) check(selection prompt.Selection) {
	t, at := c.t, len(c.rows)
	c.anchor, c.dropped, c.stubbed, c.cut = selection.Anchor, selection.Dropped, selection.Stubbed, selection.Cut
	request, manifest, err := prompt.Build(prompt.Settings{Model: modelA}, selection, nil, prompt.Tools{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	head, _ := c.head(at)()
	if selection.Tokens > c.budget.Tokens && selection.Excess == 0 {
		t.Fatalf("%d tokens of %d are shown", selection.Tokens, c.budget.Tokens)
	}
	c.shortened(selection, manifest)
	shown := map[int64]bool{}
	var covers int64
	for i := range selection.Messages {
		m := &selection.Messages[i]
		shown[m.Sequence] = true
		if m.CoversThrough != nil {
			covers = *m.CoversThrough
		}
	}
	dropped, texts := int64(0), resultTexts(request)
	fateOf := prompt.FateOf(manifest, c.rows)
	for i := range c.rows {
		m := &c.rows[i]
		fate, reason := fateOf(m)
		visible := !m.Internal && m.Status != parley.MessageFailed && !m.Marks.SetAside
		wanted := visible && m.Sequence >= head.Edge
		right := false
		if text, has := texts[m.Sequence]; has &&
			(fate == prompt.FateStubbed) != strings.HasPrefix(text, "[This result, of ") {
			t.Fatalf("message %d is %s, and the request has %q in its place", m.Sequence, fate, text)
		}
		if old := c.cut.IsZero() || m.Sequence < c.cut.From; fate == prompt.FateStubbed && old && (m.Marks.Pinned ||
			c.policy.Kind != parley.PolicyAuto) {
			t.Fatalf("message %d of %+v is stubbed under %s", m.Sequence, m.Marks, c.policy)
		}
		switch fate {
		case prompt.FateShown, prompt.FateStubbed:
			right = wanted || m.Sequence < head.Edge && visible
		case prompt.FateCovered:
			right = m.Sequence <= covers
		case prompt.FateDropped:
			right = !shown[m.Sequence]
			if m.Sequence < c.cut.From || m.Sequence > c.cut.Dropped {
				dropped++
			}
		case prompt.FateRule:
			limited := c.policy.Kind == parley.PolicyRecent || c.policy.Kind == parley.PolicySingle
			right = !wanted || m.CoversThrough != nil || limited
		}
		if !right || shown[m.Sequence] != (fate == prompt.FateShown || fate == prompt.FateStubbed) {
			t.Fatalf("message %d of %+v is %s (%s)\nmanifest %+v", m.Sequence, m.Marks, fate, reason, manifest)
		}
	}
	if first := head.First; first != nil && c.policy.Kind != parley.PolicySingle && !shown[first.Sequence] {
		t.Fatalf("the first task, %d, is not shown by %s: %+v", first.Sequence, c.policy, manifest)
	}
	for i := range c.rows { // what the turn is about stays, whatever a summary covers
		if m := &c.rows[i]; m.ID == c.running.TriggerMessageID && !m.Marks.SetAside && !shown[m.Sequence] {
			t.Fatalf("the message that the turn answers, %d, is not shown: %+v", m.Sequence, manifest)
		}
	}
	saysDropped(t, request, manifest, dropped)
	if c.cut.Dropped > 0 != slices.ContainsFunc(request.Messages, func(m model.Message) bool {
		return strings.HasPrefix(m.Parts[0].Text, "[Older steps of this turn")
	}) {
		t.Fatalf("the request says the wrong thing of the turn's older steps: %+v", c.cut)
	}
	sameAgain(t, c.rows, request, manifest, nil)
}

// shortened requires that a running turn that fills the window, or what the policy allows of it, shows no result of an
// older step, and that only a full window drops steps when no summary of them was to be had.
func (c *conversation) shortened(selection prompt.Selection, manifest parley.Manifest) {
	due, own := c.budget.Due(), 0
	type step struct {
		turnID parley.ID
		n      int
	}
	var newest step
	fateOf := prompt.FateOf(manifest, c.rows)
	began := int64(slices.IndexFunc(c.rows, func(m parley.Message) bool {
		return m.ID == c.running.TriggerMessageID
	}) + 1)
	var shown []*parley.Message // results in full, not as stubs
	for i := range selection.Messages {
		m := &selection.Messages[i]
		if fate, _ := fateOf(m); m.Sequence <= began || m.CoversThrough != nil || fate != prompt.FateShown {
			continue
		}
		own += prompt.TokensOf(m)
		switch m.Role {
		case parley.RoleAssistant, parley.RoleToolCall:
			newest = step{m.TurnID, m.Step}
		case parley.RoleToolResult:
			if m.TokenEstimate > 100 { // a stub is not much shorter than the others
				shown = append(shown, m)
			}
		}
	}
	if selection.Tokens <= due || own*100 <= due*51 {
		return
	}
	for _, m := range shown {
		if newest != (step{m.TurnID, m.Step}) {
			c.t.Fatalf("%d tokens are shown, %d of them the turn's own; results become stubs from %d on, but message "+
				"%d of step %d is shown in full: %+v", selection.Tokens, own, due, m.Sequence, m.Step, c.cut)
		}
	}
}

// resultTexts returns the texts of a request's results by their sequences.
func resultTexts(request model.Request) map[int64]string {
	texts := map[int64]string{}
	for _, m := range request.Messages {
		for _, p := range m.Parts {
			if p.Kind == model.PartToolResult {
				texts[p.Sequence] = p.Text
			}
		}
	}
	return texts
}

// saysDropped requires the notice of what is dropped in its place, once, and none without.
func saysDropped(t *rapid.T, request model.Request, manifest parley.Manifest, dropped int64) {
	d, said := manifest.Dropped, 0
	for _, m := range request.Messages {
		for _, p := range m.Parts {
			switch {
			case strings.Contains(p.Text, "no more fits into what you can read"):
				said++
				if d == nil || !strings.Contains(p.Text, fmt.Sprintf("number %d to %d", d.From, d.To)) {
					t.Fatalf("the request says %q of %+v", p.Text, d)
				}
			case d != nil && said > 0 && p.Sequence > 0 && p.Sequence < d.To:
				t.Fatalf("message %d stands behind the notice of %+v", p.Sequence, d)
			case d != nil && said == 0 && p.Sequence > d.To && !strings.HasPrefix(p.Text, "Summary of the"):
				t.Fatalf("message %d stands before the notice of %+v", p.Sequence, d)
			}
		}
	}
	if d == nil && (said > 0 || dropped > 0) || d != nil && said != 1 {
		t.Fatalf("%d messages are dropped, said %d times: %+v", dropped, said, d)
	}
}

// Every message of the record is shown, covered by a summary that is shown, left out by a rule that somebody set, or
// dropped for length and then named where it stood: over whole lives of sessions, with turns, tools and sizes at
// random, summaries that are slow, fail or are undone, marks, other policies, and smaller models.
func TestEveryMessageIsAccountedFor(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := &conversation{record: &record{}, t: t, policy: drawPolicy(t), budget: prompt.Budget{Ratio: 1}}
		c.budget.Tokens = rapid.SampledFrom([]int{500, 2000, 9000}).Draw(t, "tokens")
		if c.policy.Summarises() { // as their own limit
			c.budget.Ceiling = rapid.SampledFrom([]int{0, 300, 1000, 4000}).Draw(t, "ceiling")
		}
		for n := range rapid.IntRange(1, 14).Draw(t, "turns") {
			c.turn(n + 1)
			c.between()
		}
	})
}

// A pinned answer that a summary covers is marked: it would read as the answer to the question above it.
func TestAPinBehindASummaryIsMarked(t *testing.T) {
	t.Parallel()
	r := plain(10)
	r.rows[7].Marks.Pinned = true
	covers := int64(16)
	r.add(parley.Message{Role: parley.RoleSummary, Content: content(parley.TextContent{Text: "they talked"})}).
		CoversThrough = &covers
	r.add(user(turnID(11), "now"))
	selection := mustView(t, r.view(len(r.rows), parley.Policy{Kind: parley.PolicySummary}, 0, prompt.Budget{}))
	request, manifest := mustBuild(t, prompt.Settings{Model: modelA}, selection)
	var texts []string
	for _, m := range request.Messages[:4] {
		texts = append(texts, m.Parts[0].Text)
	}
	want := []string{
		"Summary of the conversation so far:\n\nthey talked", "question",
		"[The next message is from earlier in the conversation. What came before it is not shown here.]", "answer",
	}
	if !slices.Equal(texts, want) {
		t.Errorf("the request begins %q", texts)
	}
	for _, r := range manifest.Ranges {
		if r.Gap != (r.Reason == "pinned") {
			t.Errorf("the range %+v is marked wrongly", r)
		}
	}
	same(t, r, selection)
}

// Wrong 5: recent counts what people see, so that with a tool in each turn its window holds as many turns, and most of
// each request repeats the one before. Until the window fills, auto shows what all shows.
func TestRecentKeepsItsPrefixWithTools(t *testing.T) {
	t.Parallel()
	encoder := wires(t)["openai/gpt-5"]
	share := func(policy parley.Policy) float64 {
		r := &record{}
		var anchor int64
		var before []byte
		all, same := 0, 0
		step := func(id parley.ID) {
			selection := mustView(t, r.view(len(r.rows), policy, anchor, prompt.Budget{Tokens: 200_000}))
			anchor = selection.Anchor
			settings := prompt.Settings{
				Model:  "openai/gpt-5",
				System: strings.Repeat("You plan journeys by train. ", 30),
			}
			request, _ := mustBuild(t, settings, selection)
			encoded, err := encoder.Encode(request)
			if err != nil {
				t.Fatal(err)
			}
			now := front(t, encoded.Body)
			for n := range min(len(before), len(now)) {
				if before[n] != now[n] {
					break
				}
				same++
			}
			all, before = all+len(now), now
		}
		for n := 1; n <= 20; n++ {
			id, callID := turnID(n), fmt.Sprint("c", n)
			r.add(user(id, fmt.Sprintf("Question %d: %s", n, strings.Repeat("when does it leave? ", 8))))
			step(id)
			r.add(assistant(id, 1, parley.AssistantContent{}))
			r.add(call(id, 1, callID, `{"q":1}`))
			r.add(result(id, 1, callID, `"2026-11-23T04:00:00Z"`))
			step(id)
			r.add(assistant(id, 2, parley.AssistantContent{Text: strings.Repeat("You change twice. ", 20)}))
		}
		return float64(same) / float64(all)
	}
	all := share(parley.Policy{Kind: parley.PolicyAll})
	recent := share(parley.Policy{Kind: parley.PolicyRecent, Limit: 10})
	auto := share(parley.Policy{Kind: parley.PolicyAuto})
	t.Logf("unchanged prefix: auto %.1f %%, all %.1f %%, recent(10) %.1f %%", 100*auto, 100*all, 100*recent)
	if auto != all || all < 0.94 || recent < 0.84 {
		t.Errorf("the unchanged prefix is %.3f of auto, %.3f of all and %.3f of recent(10)", auto, all, recent)
	}
}
