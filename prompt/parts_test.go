package prompt_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"example.org/parley"
	"example.org/parley/llm/anthropic"
	"example.org/parley/llm/openai"
	"example.org/parley/llm/sim"
	"example.org/parley/model"
	"example.org/parley/prompt"
)

// crowded returns a record with everything that a request can show.
func crowded() *record {
	r := &record{}
	one, two := turnID(1), turnID(2)
	r.add(with(user(one, "What is in \"the\" box?\n"), func(m *parley.Message) { m.ContextNote = "It is noon." }))
	r.add(assistant(one, 1, parley.AssistantContent{Text: "I look."}))
	r.add(call(one, 1, "call_1", `{"at":"user"}`))
	r.add(result(one, 1, "call_1", `"a cat 🐈"`))
	r.add(assistant(one, 2, parley.AssistantContent{Text: "a cat"}))
	r.add(user(two, "user"))
	return r
}

// Each part gives the position of its text in the bytes for any provider.
func TestPartsPointIntoTheRequest(t *testing.T) {
	t.Parallel()
	openAI, err := openai.New(openai.Options{APIKey: "key"})
	if err != nil {
		t.Fatal(err)
	}
	claude, err := anthropic.New(anthropic.Options{APIKey: "key"})
	if err != nil {
		t.Fatal(err)
	}
	for id, model := range map[parley.ModelID]model.Model{"openai/gpt-5": openAI, "anthropic/claude-sonnet-4-5": claude,
		"sim/echo": sim.New()} {
		t.Run(id.Provider(), func(t *testing.T) {
			t.Parallel()
			r := crowded()
			turn := parley.Turn{ID: turnID(2)}
			selection := mustWindow(
				t,
				parley.Policy{Kind: parley.PolicyAll},
				r.session(len(r.rows)),
				turn,
				r.tail(len(r.rows)),
			)
			settings := prompt.Settings{Model: id, System: "You open boxes."}
			request, manifest, err := prompt.Build(settings, selection, nil, mustTools(t, tools()), nil)
			if err != nil {
				t.Fatal(err)
			}
			encoded, err := model.Encode(request)
			if err != nil {
				t.Fatal(err)
			}
			parts := prompt.Parts(&request, encoded.Body, manifest, r.rows)
			var lines []string
			before := 0
			for _, p := range parts {
				if p.Kind == prompt.KindParameters {
					continue
				}
				if p.Span == nil {
					t.Errorf("%+v has no position", p)
					continue
				}
				if p.Kind == prompt.KindMessage || p.Kind == prompt.KindNote {
					if p.Span.Offset < before {
						t.Errorf("part %+v precedes the previous one", p)
					}
					before = p.Span.Offset + p.Span.Length
				}
				lines = append(lines, string(encoded.Body[p.Span.Offset:p.Span.Offset+p.Span.Length]))
				if p.Reason == "" || p.Tokens == 0 {
					t.Errorf("part %+v is not explained", p)
				}
			}
			want := append(
				toolNames(),
				"You open boxes.",
				"It is noon.",
				`What is in \"the\" box?`,
				"I look.",
				"call_1",
				"a cat 🐈",
				"a cat",
				"user",
			)
			if len(lines) != len(want) {
				t.Fatalf("%d parts: %q", len(lines), lines)
			}
			for i := range want {
				if !strings.Contains(lines[i], want[i]) {
					t.Errorf("part %d is %q, want %q in it", i, lines[i], want[i])
				}
			}
			if last := parts[len(parts)-1]; last.Kind != prompt.KindParameters || last.Bytes == 0 {
				t.Errorf("the last part is %+v", last)
			}
		})
	}
}

func toolNames() (names []string) {
	for _, tool := range tools() {
		names = append(names, `"`+tool.Name+`"`)
	}
	slices.Sort(names)
	return names
}

// However a provider counts, the parts add up to its count, none is negative, and a part without tokens gets none.
func TestFittedPartsAddUp(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		estimates := rapid.SliceOfN(rapid.IntRange(0, 5000), 1, 20).Draw(t, "estimates")
		counted := rapid.IntRange(0, 1_000_000).Draw(t, "counted")
		parts := make([]prompt.Part, len(estimates))
		for i, tokens := range estimates {
			parts[i].Tokens = tokens
		}
		all := prompt.Tokens(parts)
		prompt.Fit(parts, counted)
		want := counted
		if all == 0 || counted == 0 { // nothing to stretch, or nothing counted
			want = all
		}
		if got := prompt.Tokens(parts); got != want {
			t.Fatalf("%v fitted to %d are %d", estimates, counted, got)
		}
		for i, tokens := range estimates {
			if parts[i].Tokens < 0 || tokens == 0 && parts[i].Tokens != 0 {
				t.Fatalf("%d tokens became %d", tokens, parts[i].Tokens)
			}
		}
	})
}

// A part weighs what its message does: by the model's own tokenizer if there is one, with its borders, and with the
// area of its images.
func TestPartsWeighAsMessages(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("Ein Satz auf Deutsch, der anders zählt. ", 20)
	request := model.Request{
		Model: "openai/gpt-5",
		Messages: []model.Message{{Role: model.RoleUser, Parts: []model.Part{
			{
				Kind:     model.PartText,
				Text:     text,
				Sequence: 1,
			},
			{Kind: model.PartImage, Width: 1500, Height: 750, Sequence: 1},
		}}},
	}
	content, err := parley.EncodeJSON(parley.UserContent{Text: text})
	if err != nil {
		t.Fatal(err)
	}
	message := prompt.EstimateContent(request.Model, parley.RoleUser, content)
	if message == prompt.EstimateTokens(text) {
		t.Fatal("the text counts alike by either rule")
	}
	message = prompt.TokensOf(
		&parley.Message{
			Role:          parley.RoleUser,
			Status:        parley.MessageCompleted,
			Content:       content,
			TokenEstimate: message,
		},
	) + prompt.EstimateFile(
		parley.File{MediaType: "image/png", Width: 1500, Height: 750},
	)
	parts := prompt.Parts(&request, []byte("{}"), parley.Manifest{}, nil)
	if len(parts) != 1 || parts[0].Tokens != message {
		t.Errorf("parts %+v, want one of %d tokens", parts, message)
	}
}

// The tokens in a provider's cache are the first ones.
func TestCachedPartsAreTheFirst(t *testing.T) {
	t.Parallel()
	input, cached := int64(100), int64(25)
	parts := []prompt.Part{{Tokens: 10}, {Tokens: 30}, {Tokens: 10}}
	prompt.MarkCached(parts, parley.Usage{InputTokens: &input, CachedTokens: &cached})
	for i, want := range []int{10, 2, 0} {
		if *parts[i].Cached != want {
			t.Errorf("part %d: %d of its tokens were cached, want %d", i, *parts[i].Cached, want)
		}
	}
	parts[0].Cached = nil
	prompt.MarkCached(parts[:1], parley.Usage{InputTokens: &input})
	if parts[0].Cached != nil {
		t.Error("a provider that reports nothing has cached something")
	}
}

// sentOf builds and encodes a request of a record.
func sentOf(t *testing.T, r *record, policy parley.Policy, turn int, change func(*prompt.Settings)) *prompt.Sent {
	t.Helper()
	n := len(r.rows)
	selection := mustWindow(t, policy, r.session(n), parley.Turn{ID: turnID(turn)}, r.tail(n))
	settings := prompt.Settings{Model: "sim/echo", System: "You are old.\nYou open boxes.\nYou close them."}
	if change != nil {
		change(&settings)
	}
	request, manifest, err := prompt.Build(settings, selection, nil, mustTools(t, tools()), nil)
	if err != nil {
		t.Fatal(err)
	}
	encoded, err := sim.New().Encode(request)
	if err != nil {
		t.Fatal(err)
	}
	sent := &prompt.Sent{Request: request, Encoded: encoded.Body, Manifest: manifest, Shown: selection.Messages}
	sent.Parts = prompt.Parts(&request, encoded.Body, manifest, r.rows)
	return sent
}

// The cause of a difference is named, and the shared part is counted.
func TestCompareNamesTheCause(t *testing.T) {
	t.Parallel()
	all := parley.Policy{Kind: parley.PolicyAll}
	grown := func() *record {
		r := crowded()
		r.add(assistant(turnID(2), 1, parley.AssistantContent{Text: "Yes."}))
		r.add(user(turnID(3), "And now?"))
		return r
	}
	before := sentOf(t, crowded(), all, 2, nil)
	for _, test := range []struct {
		name   string
		after  *prompt.Sent
		cause  prompt.Cause
		breaks bool
		says   string
		kind   prompt.Kind
		shared int // messages
	}{
		{"appended", sentOf(t, grown(), all, 3, nil), prompt.CauseAppended, false, "2 more", prompt.KindMessage,
			len(before.Request.Messages)},
		{"system", sentOf(t, grown(), all, 3, func(s *prompt.Settings) {
			s.System = "You are old.\nYou open crates.\nYou close them."
		}),
			prompt.CauseSystem, true, "line 2", prompt.KindSystem, 0},
		{"model", sentOf(t, crowded(), all, 2, func(s *prompt.Settings) {
			s.Model = "sim/reason"
		}), prompt.CauseModel, true, "sim/reason", prompt.KindParameters, 0},
		{"window", sentOf(t, grown(), parley.Policy{Kind: parley.PolicySingle}, 3, nil), prompt.CauseWindow, true,
			"begins with message 8 and began with message 1", prompt.KindMessage, 0},
		{"marks", func() *prompt.Sent {
			r := grown()
			r.rows[1].Marks.SetAside = true
			return sentOf(t, r, all, 3, nil)
		}(), prompt.CauseMarks, true, "messages 2", prompt.KindMessage, 1},
		{"parameters", sentOf(t, crowded(), all, 2, func(s *prompt.Settings) {
			s.Parameters.MaxTokens = new(9)
		}), prompt.CauseParameters, false, "max_tokens", prompt.KindParameters, len(before.Request.Messages)},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			d := prompt.Compare(before, test.after)
			if len(d.Changes) == 0 || d.Identical || d.First == nil {
				t.Fatalf("nothing differs: %+v", d)
			}
			c := d.Changes[0]
			if c.Cause != test.cause || c.Breaks != test.breaks || !strings.Contains(c.Says, test.says) {
				t.Errorf("the cause is %+v", c)
			}
			if d.Shared.Messages != test.shared {
				t.Errorf("%d messages are shared, want %d", d.Shared.Messages, test.shared)
			}
			if d.First.Kind != test.kind {
				t.Errorf("they diverge in %+v", d.First)
			}
			at := d.First.Offset
			if !bytes.Equal(before.Encoded[:at], test.after.Encoded[:at]) ||
				before.Encoded[at] == test.after.Encoded[at] {
				t.Errorf("byte %d is not the first that differs", at)
			}
		})
	}
	if d := prompt.Compare(
		before,
		before,
	); !d.Identical || d.First != nil || len(d.Changes) > 0 ||
		d.Shared.Tokens != d.Shared.OfTokens {
		t.Errorf("a request differs from itself: %+v", d)
	}
	changed := prompt.Compare(
		before,
		sentOf(
			t,
			crowded(),
			all,
			2,
			func(s *prompt.Settings) { s.System = "You are old.\nYou open crates.\nYou close them." },
		),
	)
	lines := changed.Changes[0].Lines
	if len(lines) != 2 || lines[0] != (prompt.LineChange{Line: 2, Sign: "-", Text: "You open boxes."}) ||
		lines[1].Text != "You open crates." {
		t.Errorf("the lines that differ are %+v", lines)
	}
	if changed.First.Kind != prompt.KindSystem || changed.Shared.Tokens == 0 {
		t.Errorf("only tools are shared: %+v %+v", changed.First, changed.Shared)
	}
}

// A system prompt that only lost its end differs at the closing quote, which belongs to the system prompt and not to
// the first message.
func TestCompareNamesAShorterSystemPrompt(t *testing.T) {
	t.Parallel()
	all := parley.Policy{Kind: parley.PolicyAll}
	with := func(system string) *prompt.Sent {
		return sentOf(t, crowded(), all, 2, func(s *prompt.Settings) { s.System, s.Tools = system, nil })
	}
	d := prompt.Compare(with("You are old. It is 10:02."), with("You are old."))
	if d.First == nil || d.First.Kind != prompt.KindSystem {
		t.Errorf("they diverge in %+v", d.First)
	}
}

// A pin before a context edge does not hide that the edge cut the window.
func TestOmittedNamesTheEdgeBehindPins(t *testing.T) {
	t.Parallel()
	r := plain(12)
	r.rows[9].Marks.ContextEdge = true
	manifest := parley.Manifest{
		Policy: "recent(10)",
		Ranges: []parley.ManifestRange{{From: 3, To: 3, Reason: "pinned"}, {From: 10, To: 12, Reason: "recent(10)"}},
	}
	omitted := prompt.Omitted(manifest, append(r.rows[2:3:3], r.rows[9:]...), 12)
	for _, o := range omitted {
		if o.Reason != "before the context edge at message 10" {
			t.Errorf("left out: %+v", o)
		}
	}
	if len(omitted) != 2 {
		t.Errorf("left out: %+v", omitted)
	}
}

// Messages that a call was not shown are listed with the reason.
func TestOmittedSaysWhy(t *testing.T) {
	t.Parallel()
	r := plain(12)
	r.rows[9].Internal = true
	r.rows[10].Status = parley.MessageFailed
	manifest := parley.Manifest{
		Policy: "recent(3)",
		Ranges: []parley.ManifestRange{{From: 8, To: 12, Except: []int64{9}, Reason: "recent(3)"}},
	}
	omitted := prompt.Omitted(manifest, r.rows[7:12], 14)
	want := []struct {
		from, to int64
		reason   string
		counted  bool
	}{{1, 7, "outside the window (recent(3))", false}, {9, 9, "set aside at the time", true},
		{10, 10, "internal", true}, {11, 11, "failed", true}, {13, 14, "outside the window (recent(3))", false}}
	if len(omitted) != len(want) {
		t.Fatalf("left out: %+v", omitted)
	}
	for i, w := range want {
		if o := omitted[i]; o.From != w.from || o.To != w.to || o.Reason != w.reason ||
			(o.Tokens != nil) != w.counted ||
			o.Count != w.to-w.from+1 {
			t.Errorf("%+v, want %+v", o, w)
		}
	}
}
